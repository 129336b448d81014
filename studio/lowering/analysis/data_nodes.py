"""Execution of data nodes outside of a training: sources are opened, transforms and divisions applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.data.splits import Splits
from studio.nodes.derived_types import MAPPING
from studio.nodes.types import NodeType, Role


def apply_data_node(node_type: NodeType, arguments: Mapping[str, Any], before: Splits | None) -> Splits:
    """Return what leaves a data node, given the samples that arrive; a source gets None.

    The generated `data` method of a training does the same. A loader returns the samples that it batches.
    Raises whatever the node's class raises.
    """
    target: Any = node_type.target
    if node_type.role is Role.SOURCE:
        return target(**arguments)
    if before is None:
        raise ValueError(f"{node_type.title} gets no samples")
    match node_type.role:
        case Role.TRANSFORM:
            own, mapping = split_transform_arguments(arguments)
            return before.map(target(**own), **mapping)
        case Role.DIVISION:
            return target(before, **arguments)
        case _:
            return before


def split_transform_arguments(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a transform node's arguments into those of the transform and those of `Splits.map`."""
    mapping = {parameter.name for parameter in MAPPING}
    own = {name: value for name, value in arguments.items() if name not in mapping}
    return own, {name: value for name, value in arguments.items() if name in mapping}


__all__ = ["apply_data_node", "split_transform_arguments"]
