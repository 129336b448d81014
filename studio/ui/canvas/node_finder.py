"""Find nodes of a project, also inside blocks, by name, type, parameters and problems. Does not use Qt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from studio.document.blocks.block_locations import all_nodes
from studio.document.model import Document, Node
from studio.lowering.analysis.block_types import BlockTypes
from studio.lowering.problems.problem import Problem
from studio.nodes.catalogue import Catalogue


class FoundNode(NamedTuple):
    path: str
    """Name of the node, with the instances around it: "encoder.fc"."""
    reason: str
    """What was found, if not the name: a type, a parameter or a problem."""


def find_nodes(document: Document, catalogue: Catalogue, problems: Iterable[Problem], text: str) -> list[FoundNode]:
    """The nodes in which all words of `text` occur. Those with the words in their name are first.

    Args:
        problems: problems of the project, by the path of their node
    """
    words = text.casefold().split()
    if not words:
        return []
    messages: defaultdict[str, list[str]] = defaultdict(list)
    for problem in problems:
        if problem.node is not None:
            messages[problem.node].append(problem.message)
    types = BlockTypes(document.blocks, catalogue)
    named: list[FoundNode] = []
    others: list[FoundNode] = []
    for path, node in all_nodes(document):
        if _has_all(path, words):
            named.append(FoundNode(path, ""))
            continue
        kind = types.type_of(node)
        texts = [path, *_texts(node, kind.title if kind else ""), *messages.get(path, ())]
        if _has_all(" ".join(texts), words):
            others.append(FoundNode(path, next(text for text in texts[1:] if _has_any(text, words))))
    return named + others


def _texts(node: Node, title: str) -> Iterator[str]:
    if title:
        yield title
    yield node.type
    for param, value in node.params.items():
        yield f"{param} = {value}"
    if node.note:
        yield node.note


def _has_all(text: str, words: Iterable[str]) -> bool:
    text = text.casefold()
    return all(word in text for word in words)


def _has_any(text: str, words: Iterable[str]) -> bool:
    text = text.casefold()
    return any(word in text for word in words)


__all__ = ["FoundNode", "find_nodes"]
