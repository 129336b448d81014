"""The names of the parameters of a layer, without its values."""

from __future__ import annotations

from typing import Any

import engine
from studio.document.weight_sharing import layer_of
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_arguments import resolve_paths
from studio.nodes.initialization import without_initialization
from studio.nodes.python_node import PYTHON
from studio.nodes.types import Role


def parameter_names(flow: Dataflow, path: str) -> list[str]:
    """The parameters of a node by their paths in the layer; none for a node that is no complete layer."""
    if path not in flow.facts:
        return []
    nodes = flow.document.nodes
    owner = layer_of(nodes, path)
    facts = flow.facts[owner if owner in flow.facts else path]
    is_layer = facts.type.role in (Role.LAYER, Role.LOSS) and facts.type.key != PYTHON
    if not is_layer or facts.arguments.problems or facts.outcome.failure:
        return []
    target: Any = facts.type.target
    try:
        with engine.device("meta"):
            arguments = resolve_paths(facts.type, facts.arguments.values, flow.base)
            module = target(**without_initialization(arguments))
    except Exception:  # noqa: BLE001 - the check reports what is wrong with its arguments
        return []
    return [name for name, _ in module.named_parameters()]


__all__ = ["parameter_names"]
