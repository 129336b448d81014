"""Warnings and hints that are not reported for a node, because its field `dismissed` names their code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from studio.document import edits
from studio.document.blocks.block_edits import edit_graph
from studio.document.blocks.block_locations import all_nodes, block_at, graph_at, locate
from studio.document.document_errors import EditError
from studio.document.model import Document, Node
from studio.lowering.problems.diagnoses import current_code
from studio.lowering.problems.problem import Problem


def can_dismiss(problem: Problem) -> bool:
    """Whether a problem can be dismissed: a warning or a hint at a node."""
    return problem.severity != "error" and problem.node is not None and not problem.dismissed


def with_dismissals(problems: Iterable[Problem], document: Document) -> Iterator[Problem]:
    """The problems, those that the document dismisses marked as such."""
    for problem in problems:
        node = _node(document, problem.node) if problem.severity != "error" and problem.node else None
        is_dismissed = node is not None and problem.code in map(current_code, node.dismissed)
        yield problem if problem.dismissed == is_dismissed else replace(problem, dismissed=is_dismissed)


def dismiss(document: Document, problem: Problem) -> Document:
    """Dismiss a problem at its nodes, for all instances of their blocks. Raises EditError."""
    for path in dict.fromkeys(path for path in (problem.node, *problem.also) if path is not None):
        document = _edit(document, path, lambda codes: (*codes, problem.code))
    return document


def restore(document: Document, path: str, code: str) -> Document:
    """Report problems with a code again at a node. Raises EditError."""
    return _edit(
        document, path, lambda codes: tuple(each for each in codes if current_code(each) != current_code(code))
    )


def restore_all(document: Document) -> Document:
    """Report all dismissed problems again."""
    for path, code in dismissed_codes(document):
        document = restore(document, path, code)
    return document


def dismissed_codes(document: Document) -> list[tuple[str, str]]:
    """Nodes with the codes that are dismissed there, also of problems that no longer exist."""
    found = ((path, current_code(code)) for path, node in all_nodes(document) for code in node.dismissed)
    return list(dict.fromkeys(found))


def differ_in_dismissals(old: Document, new: Document) -> bool:
    """Whether two versions of a document differ in their dismissals and in nothing else."""
    return restore_all(old) == restore_all(new) if dismissed_codes(old) != dismissed_codes(new) else False


def _edit(document: Document, path: str, change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Document:
    try:
        location, name = locate(document, path)
    except KeyError:
        raise EditError(f"The project has no node {path!r}.") from None
    codes = change(graph_at(document, location).nodes[name].dismissed)
    return edit_graph(document, block_at(document, location), partial(edits.set_dismissed, name=name, codes=codes))


def _node(document: Document, path: str) -> Node | None:
    if path in document.nodes:
        return document.nodes[path]
    try:
        location, name = locate(document, path)
    except KeyError:
        return None
    return graph_at(document, location).nodes[name]


__all__ = [
    "can_dismiss",
    "differ_in_dismissals",
    "dismiss",
    "dismissed_codes",
    "restore",
    "restore_all",
    "with_dismissals",
]
