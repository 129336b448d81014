"""Set and clear parameters of nodes at any depth, where their values come from.

The value of a promoted parameter is that of the instance, so it is set there; any other belongs to the definition.
"""

from __future__ import annotations

from functools import partial
from typing import cast

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import edit_graph, promoted_as
from studio.document.blocks.block_locations import UNSET, Location, block_at, locate, value_at
from studio.document.document_errors import EditError
from studio.document.model import Document, Json, ParamRef


def set_param_at(document: Document, path: str, param: str, value: Json) -> Document:
    """Set a parameter of the node with a path. Raises EditError."""
    location, name = _located(document, path)
    return set_at(document, location, name, param, value)


def clear_param_at(document: Document, path: str, param: str) -> Document:
    """Clear a parameter of the node with a path, at the instance if it is set there. Raises EditError."""
    location, name = _located(document, path)
    return clear_at(document, location, name, param)


def set_at(document: Document, location: Location, name: str, param: str, value: Json) -> Document:
    """Set a parameter of a node in a graph. For one copy of many, if the instance has a value per copy."""
    promoted = _promoted(document, location, name, param)
    if promoted is None:
        edit = partial(edits.set_param, name=name, param=param, value=value)
        return edit_graph(document, block_at(document, location), edit)
    outer, step = location[:-1], location[-1]
    each = block_nodes.values_per_copy(cast("Json", value_at(document, outer, step.instance, promoted)))
    if each is not None and step.copy < len(each):
        value = {block_nodes.EACH: [*each[: step.copy], value, *each[step.copy + 1 :]]}
    return set_at(document, outer, step.instance, promoted, value)


def clear_at(document: Document, location: Location, name: str, param: str) -> Document:
    """Clear a parameter of a node in a graph: at the innermost instance that sets it, else in the definition."""
    promoted = _promoted(document, location, name, param)
    if promoted is not None:
        outer, step = location[:-1], location[-1]
        if value_at(document, outer, step.instance, promoted) is not UNSET:
            return clear_at(document, outer, step.instance, promoted)
    edit = partial(edits.clear_param, name=name, param=param)
    return edit_graph(document, block_at(document, location), edit)


def _promoted(document: Document, location: Location, name: str, param: str) -> str | None:
    block = block_at(document, location)
    return promoted_as(document.blocks[block], ParamRef(name, param)) if block else None


def _located(document: Document, path: str) -> tuple[Location, str]:
    try:
        return locate(document, path)
    except KeyError:
        raise EditError(f"The project has no node {path!r}.") from None


__all__ = ["clear_at", "clear_param_at", "set_at", "set_param_at"]
