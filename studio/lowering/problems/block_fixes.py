"""Problems of the flat graph and of definitions, as problems of the document with blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from studio.document.blocks.block_edits import edit_block, promoted_as
from studio.document.blocks.block_expansion import Expansion, Scope
from studio.document.document_errors import EditError
from studio.document.flat_edits import edit_flat
from studio.document.model import Endpoint, ParamRef, Wire
from studio.lowering.problems.problem import Fix, Problem

UNFED = frozenset({"missing-wire", "not-wired"})
"""Codes of problems of nodes with inputs that have no wire."""


def in_document(problems: Iterable[Problem], expansion: Expansion) -> Iterator[Problem]:
    """Problems of the flat graph, with fixes of the document. One without such a fix has none.

    An inner input that has no value because an input of the instance has no wire is a problem of the instance, and so
    is an inner node that the run does not use.
    """
    seen: set[tuple[str, str]] = set()
    for problem in sorted(problems, key=lambda problem: problem.code == "unused"):
        unfed = None if problem.code not in UNFED else _unfed_input(problem, expansion)
        if problem.code == "unused" and problem.node != problem.node_on_canvas:
            if not any(path == problem.node_on_canvas for path, _ in seen):
                seen.add((str(problem.node_on_canvas), ""))
                yield _unused_instance(str(problem.node_on_canvas))
        elif unfed is None:
            fix = None if problem.fix is None else _lifted(problem.fix, expansion, problem.node)
            problem = _at_promoted(problem, expansion)
            if problem.fix is not None and fix is None:
                problem = _to_fix_by_hand(problem, expansion)
            others = () if fix is None else _all_lifted(problem.others, expansion, problem.node)
            yield replace(problem, fix=fix, others=others, wire=_wire_on_canvas(problem.wire, expansion))
        elif unfed not in seen:
            seen.add(unfed)
            path, port = unfed
            message = f"{path} needs a wire at {port}. Connect an output to it."
            yield Problem(problem.severity, "missing-wire", message, node=path, port=port)


def once_per_definition(problems: Iterable[Problem], expansion: Expansion) -> list[Problem]:
    """Problems of one node of a definition, in several copies or instances, as one. Its `also` lists the others."""
    found: dict[tuple[object, ...], Problem] = {}
    for index, problem in enumerate(problems):
        key = _in_definition(problem, expansion) or (index,)
        first = found.get(key)
        if first is None or problem.node is None:
            found[key] = problem
        elif problem.node != first.node and problem.node not in first.also:
            found[key] = replace(first, also=(*first.also, problem.node))
    return list(found.values())


def _in_definition(problem: Problem, expansion: Expansion) -> tuple[object, ...] | None:
    """What equal problems of a node inside a block have in common; None for a node of the canvas."""
    if problem.node is None or "." not in problem.node or problem.affected is not None:
        return None
    try:
        scope, name = expansion.locate(problem.node)
    except KeyError:
        return None
    text = problem.message.replace(scope.prefix, "")
    title = problem.fix and problem.fix.title.replace(scope.prefix, "")
    return problem.code, problem.severity, scope.block, name, text, title


def _at_promoted(problem: Problem, expansion: Expansion) -> Problem:
    """The problem at the instance where the parameter that its fix sets is promoted."""
    target = "" if problem.fix is None or len(problem.fix.settings) != 1 else problem.fix.settings[0].partition("=")[0]
    path, _, param = target.rpartition(".")
    if "." not in path:
        return problem
    scope, name = expansion.locate(path)
    inner = param
    while scope.parent is not None:
        promoted = promoted_as(expansion.document.blocks[scope.block], ParamRef(name, param))
        if promoted is None:
            break
        scope, name, param = scope.parent, scope.instance, promoted
    if scope.prefix + name == path or not path.startswith(problem.node or path):
        return problem
    instance = scope.prefix + name
    message = f"{problem.message} {inner} of {path} is {param} of {instance}."
    return replace(problem, message=message, node=instance, port=None, affected=problem.affected or path)


def _to_fix_by_hand(problem: Problem, expansion: Expansion) -> Problem:
    """A problem without a button: its message says which block to edit."""
    if problem.node is None or "." not in problem.node:
        return problem
    scope, _ = expansion.locate(problem.node)
    return replace(problem, message=f"{problem.message} Edit the block {scope.block} for that.")


def _unused_instance(path: str) -> Problem:
    message = f"{path} has an unconnected output, so it is not part of the run. Connect its output, or remove it."
    return Problem("warning", "unused", message, node=path)


def in_scope(problem: Problem, scope: Scope) -> Problem:
    """A problem of the graph of a scope: with the path of its node, and a fix of the definition."""
    if scope.parent is None:
        return problem
    fix = None if problem.fix is None else _of_block(problem.fix, scope)
    others = tuple(_of_block(other, scope) for other in problem.others)
    node = scope.instance_path if problem.node is None else scope.prefix + problem.node
    message = f"In the block {scope.block}: {problem.message}"
    return replace(problem, message=message, node=node, wire=None, fix=fix, others=others, block=scope.block)


def _of_block(fix: Fix, scope: Scope) -> Fix:
    """A fix of the graph of a scope, as an edit of the document."""
    return Fix(fix.title, partial(edit_block, name=scope.block, edit=fix.edit), reason=fix.reason)


def _all_lifted(fixes: Iterable[Fix], expansion: Expansion, node: str | None) -> tuple[Fix, ...]:
    lifted = (_lifted(fix, expansion, node) for fix in fixes)
    return tuple(fix for fix in lifted if fix is not None)


def _lifted(fix: Fix, expansion: Expansion, node: str | None) -> Fix | None:
    """The fix as an edit of the document; None if it cannot be applied there.

    Args:
        node: the node of the problem. A fix that adds nodes beside one in a block changes the definition.
    """
    try:
        edit_flat(expansion.document, fix.edit, expansion)
    except EditError:
        return _of_definition(fix, expansion, node)
    return Fix(fix.title, partial(edit_flat, edit=fix.edit), reason=fix.reason)


def _of_definition(fix: Fix, expansion: Expansion, node: str | None) -> Fix | None:
    """The fix as an edit of the definition that a node is in, and so of all its instances."""
    if fix.inner is None or node is None or "." not in node:
        return None
    try:
        scope, _ = expansion.locate(node)
        edit = partial(edit_block, name=scope.block, edit=fix.inner(scope.prefix))
        edit(expansion.document)
    except (EditError, KeyError, StopIteration):
        return None
    title = f"{fix.title.replace(scope.prefix, '')} in the block {scope.block}"
    return Fix(title, edit, reason=fix.reason)


def _unfed_input(problem: Problem, expansion: Expansion) -> tuple[str, str] | None:
    """The instance and its input port through which the input of an inner node would get its value."""
    if problem.node is None or problem.port is None or "." not in problem.node:
        return None
    scope, name = expansion.locate(problem.node)
    end = Endpoint(name, problem.port)
    while True:
        source = scope.sources.get(end)
        if source is None:
            return None if end.node == name else (scope.prefix + end.node, end.port)
        if scope.parent is None or not scope.is_boundary(source.node):
            return None
        scope, end, name = scope.parent, Endpoint(scope.instance, source.node), ""


def _wire_on_canvas(wire: Wire | None, expansion: Expansion) -> Wire | None:
    """The wire of the canvas that leads to the end of a wire of the flat graph, if there is one."""
    source = None if wire is None else expansion.root.sources.get(wire.target)
    return None if wire is None or source is None else Wire(source, wire.target)


__all__ = ["in_document", "in_scope", "once_per_definition"]
