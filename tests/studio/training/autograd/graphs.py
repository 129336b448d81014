"""Autograd graphs of any size, made without a tensor."""

from __future__ import annotations

import engine
from engine.inspect import AutogradGraph, GraphEdge, GraphNode
from engine.shape import Spec
from studio.training.autograd.autograd_snapshot import AutogradSnapshot

_SPEC = Spec((32, 64), engine.float32)


def deep_snapshot(copies: int, layers: int, *, block: str = "encoder", step: int = 0) -> AutogradSnapshot:
    """A block that is repeated: a chain of layers in each copy, each with three ops and two leaves, and a shortcut.

    A loss is the first node, so there are 1 + copies · layers · 5 nodes.
    """
    nodes, edges, owners = (
        [GraphNode(0, "NllLossBackward0", "cross_entropy", _SPEC, gradient_norm=1.0)],
        [],
        {0: "loss"},
    )
    last = 0
    for copy in reversed(range(copies)):
        for layer in reversed(range(layers)):
            owner, before = f"{block}.{copy}.layer{layer}", last
            for name, leaf in (
                ("ReluBackward0", None), ("AddBackward0", None), ("AddmmBackward0", None),
                ("AccumulateGrad", "weight"), ("AccumulateGrad", "bias"),
            ):  # fmt: skip
                id = len(nodes)
                label = None if leaf is None else f"{owner}.{leaf}"
                nodes.append(
                    GraphNode(id, name, "leaf" if leaf else "op", _SPEC, gradient_norm=1 / (id + 1), leaf=label)
                )
                owners[id] = owner
                edges.append(GraphEdge(last, id))
                last = id if leaf is None else last
            edges.append(GraphEdge(before, last))
    return AutogradSnapshot(AutogradGraph(tuple(nodes), tuple(edges)), owners, 0.5, step)
