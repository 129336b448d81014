"""Edits of breakpoints: conditions by text, with whether they are enabled. They have no effect on what trains."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from studio.document.blocks import block_nodes
from studio.document.blocks.block_nodes import renamed_path
from studio.document.breakpoints.condition import paths_in
from studio.document.breakpoints.condition_parser import parse_condition, renamed_condition
from studio.document.breakpoints.condition_tokens import ConditionError
from studio.document.document_errors import EditError
from studio.document.model import MAX_BREAKPOINTS, Document


def set_breakpoint(document: Document, condition: str, *, enabled: bool = True) -> Document:
    """Add a breakpoint after the others, or enable or disable it. Raises EditError if the condition cannot be read."""
    condition = checked_condition(condition)
    if document.breakpoints.get(condition) is enabled:
        return document
    if condition not in document.breakpoints and len(document.breakpoints) >= MAX_BREAKPOINTS:
        raise EditError(f"A project has at most {MAX_BREAKPOINTS} breakpoints. Remove one first.")
    return replace(document, breakpoints={**document.breakpoints, condition: enabled})


def change_breakpoint(document: Document, old: str, new: str) -> Document:
    """Replace the condition of a breakpoint, in its place. Raises EditError if the new one cannot be read."""
    new = checked_condition(new)
    if new == old or old not in document.breakpoints:
        return document
    kept = {name: enabled for name, enabled in document.breakpoints.items() if name != new}
    return replace(document, breakpoints={new if name == old else name: enabled for name, enabled in kept.items()})


def remove_breakpoints(document: Document, conditions: Collection[str]) -> Document:
    """Remove breakpoints."""
    kept = {name: enabled for name, enabled in document.breakpoints.items() if name not in conditions}
    return document if len(kept) == len(document.breakpoints) else replace(document, breakpoints=kept)


def checked_condition(condition: str) -> str:
    """A condition without surplus spaces. Raises EditError if it cannot be read."""
    condition = " ".join(condition.split())
    try:
        parse_condition(condition)
    except ConditionError as error:
        raise EditError(f"{condition or 'An empty condition'}: {error}.") from None
    return condition


def renamed_breakpoints(breakpoints: Mapping[str, bool], old: str, new: str) -> dict[str, bool]:
    """Breakpoints after a node got a new name."""
    names = {old: new}
    return {
        renamed_condition(condition, lambda path: renamed_path(path, names)): enabled
        for condition, enabled in breakpoints.items()
    }


def renamed_inside(document: Document, block: str, names: Mapping[str, str]) -> dict[str, bool]:
    """Breakpoints after nodes of a definition got new names, in every instance of it.

    Args:
        document: with the old names
        names: old name in the definition → new name
    """

    def rename(path: str) -> str:
        nodes, inside, found = document.nodes, None, list[str]()
        for part in path.split("."):
            found.append(names.get(part, part) if inside == block else part)
            if not part.isdecimal():  # the index of a copy
                inside = block_nodes.name_of(nodes[part]) if part in nodes else None
                nodes = document.blocks[inside].nodes if inside in document.blocks else {}
        return ".".join(found)

    return {renamed_condition(condition, rename): enabled for condition, enabled in document.breakpoints.items()}


def unknown_node(document: Document, condition: str) -> str:
    """The first name in a condition that is no node of the canvas; empty if there is none."""
    names = (path.partition(".")[0] for path in breakpoint_paths(condition))
    return next((name for name in names if name not in document.nodes), "")


def remaining_breakpoints(breakpoints: Mapping[str, bool], removed: Collection[str]) -> dict[str, bool]:
    """The breakpoints that name none of these nodes."""
    return {
        condition: enabled
        for condition, enabled in breakpoints.items()
        if not any(path.partition(".")[0] in removed for path in breakpoint_paths(condition))
    }


def breakpoint_paths(condition: str) -> list[str]:
    """The nodes, outputs and parameters that a condition names; none if it cannot be read."""
    try:
        return paths_in(parse_condition(condition))
    except ConditionError:
        return []


__all__ = [
    "breakpoint_paths",
    "change_breakpoint",
    "checked_condition",
    "remaining_breakpoints",
    "remove_breakpoints",
    "renamed_breakpoints",
    "renamed_inside",
    "set_breakpoint",
    "unknown_node",
]
