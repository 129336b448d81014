"""How large the gradients of a loss are, compared with those of a mean over the batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from studio.lowering.analysis.dataflow import Dataflow
from studio.nodes.loss_sum_node import SUM, WEIGHTS
from studio.nodes.types import Role

QUADRATIC = frozenset({"nn.MSELoss", "nn.GaussianNLLLoss"})
"""Losses whose gradient grows with the error."""
ELEMENTWISE = QUADRATIC | {"nn.L1Loss", "nn.HuberLoss", "nn.SmoothL1Loss", "nn.BCELoss", "nn.BCEWithLogitsLoss"}
"""Losses that average over all elements of the output."""
UNBOUNDED = QUADRATIC | {"nn.L1Loss", "nn.HuberLoss", "nn.SmoothL1Loss", "nn.PoissonNLLLoss"}
"""Losses of numbers of any size."""


@dataclass(frozen=True, slots=True)
class WeightedLoss:
    """A loss that an optimizer minimizes."""

    name: str
    weight: float
    """Its factor in the minimized sum."""
    sum_node: str | None = None
    """The node that applies the weight, and its parameter."""
    weight_param: str = ""


def minimized_losses(flow: Dataflow, optimizer: str) -> list[WeightedLoss]:
    """The losses of an optimizer, through the nodes that combine them."""
    end = flow.graph.source(optimizer, "loss")
    return [] if end is None else list(_losses(flow, WeightedLoss(end.node, 1.0)))


def _losses(flow: Dataflow, found: WeightedLoss) -> Iterator[WeightedLoss]:
    facts = flow.facts.get(found.name)
    if facts is None:
        return
    if facts.type.role is Role.LOSS:
        yield found
    if facts.type.key != SUM:
        return
    for port, param in WEIGHTS.items():
        end, weight = flow.graph.source(found.name, port), facts.arguments.values.get(param, 1.0)
        if end is not None and isinstance(weight, (int, float)):
            yield from _losses(flow, WeightedLoss(end.node, found.weight * weight, found.name, param))


def loss_key(flow: Dataflow, loss: str) -> str:
    return flow.graph.types[loss].key


def is_summed(flow: Dataflow, loss: str) -> bool:
    facts = flow.facts.get(loss)
    return facts is not None and facts.arguments.values.get("reduction") == "sum"


def largest_batch(flow: Dataflow) -> int:
    """The largest batch size of the loaders of the run, at least 1."""
    sizes = [
        size
        for name in flow.graph.with_role(Role.LOADER)
        if name in flow.graph.needed and isinstance(size := flow.facts[name].arguments.values.get("batch_size"), int)
    ]
    return max(sizes, default=1)


def elements(flow: Dataflow, loss: str) -> int:
    """Elements per sample that an elementwise loss averages over; 1 for other losses."""
    facts = flow.facts.get(loss)
    spec = None if facts is None else facts.spec("input")
    if spec is None or loss_key(flow, loss) not in ELEMENTWISE:
        return 1
    return prod(size for size in spec.shape[1:] if isinstance(size, int))


__all__ = [
    "UNBOUNDED",
    "QUADRATIC",
    "WeightedLoss",
    "elements",
    "is_summed",
    "largest_batch",
    "loss_key",
    "minimized_losses",
]
