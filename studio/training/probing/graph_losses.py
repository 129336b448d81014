"""The losses of a graph: what gradients are computed from."""

from __future__ import annotations

from collections.abc import Mapping

from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.nodes.types import Role


def graph_losses(flow: Dataflow) -> Mapping[str, Endpoint]:
    """The loss of each optimizer. Without optimizers, each loss that no sum of losses reads, by its name."""
    graph = flow.graph
    found = {name: graph.sources(name).get("loss") for name in graph.optimized}
    losses = {name: end for name, end in found.items() if end is not None}
    if losses:
        return losses
    single = [*graph.with_role(Role.LOSS), *graph.with_role(Role.LOSS_SUM)]
    read = {end.node for name in graph.with_role(Role.LOSS_SUM) for end in graph.sources(name).values()}
    return {name: Endpoint(name, "loss") for name in single if name not in read and graph.sources(name)}


__all__ = ["graph_losses"]
