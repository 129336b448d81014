"""Execution of data nodes without training: open sources, apply transforms and splits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.data.splits import Splits
from studio.nodes.derived_types import MAPPING
from studio.nodes.types import NodeType, Role


def apply_data_node(node_type: NodeType, arguments: Mapping[str, Any], samples: Splits | None) -> Splits:
    """Apply a data node to samples, as the generated `data` method does. A loader returns the samples unchanged.

    Args:
        samples: samples at the input of the node; None for a source

    Raises any exception of the node's class.
    """
    target: Any = node_type.target
    if node_type.role is Role.SOURCE:
        return target(**arguments)
    if samples is None:
        raise ValueError(f"{node_type.title} requires samples")
    match node_type.role:
        case Role.TRANSFORM:
            transform_arguments, mapping = split_transform_arguments(arguments)
            return samples.map(target(**transform_arguments), **mapping)
        case Role.DIVISION:
            return target(samples, **arguments)
        case _:
            return samples


def split_transform_arguments(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a transform node's arguments into those of the transform and those of `Splits.map`."""
    mapping = {parameter.name for parameter in MAPPING}
    transform_arguments = {name: value for name, value in arguments.items() if name not in mapping}
    return transform_arguments, {name: value for name, value in arguments.items() if name in mapping}


__all__ = ["apply_data_node", "split_transform_arguments"]
