"""Trained layers that get no gradient, because only operations without one lead from them to the loss."""

from __future__ import annotations

from collections.abc import Iterator

from engine.shape import Spec
from studio.document.graph_walk import walk
from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.training_goal_checks import trained_layers
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem

MAX_LISTED = 5
"""Maximum number of layers that a message names."""

STOPS = {
    "ops.detach": "stops gradients",
    "nn.CausalMask": "outputs a mask made from the sizes of its input alone, to be added to attention scores",
    **dict.fromkeys(("ops.zeros_like", "ops.ones_like", "ops.rand_like", "ops.randn_like"), "uses no values"),
    **dict.fromkeys(
        ("ops.floor", "ops.ceil", "ops.trunc", "ops.round", "ops.sign", "ops.floor_divide"),
        "is constant between its steps",
    ),
}
"""Operations whose result depends on their inputs without a gradient, with the reason."""


def gradient_problems(flow: Dataflow) -> Iterator[Problem]:
    for optimizer in flow.graph.optimized:
        reached = set(walk([optimizer], lambda name: _differentiable_sources(flow, name)))
        trained = trained_layers(flow, optimizer)
        without = [name for name in trained if name not in reached]
        by_stop: dict[str, list[str]] = {}
        for name in without:
            stop = _stop(flow, name, optimizer)
            if stop is not None:
                by_stop.setdefault(stop, []).append(name)
        for stop, layers in by_stop.items():
            yield _problem(flow, stop, layers, optimizer, is_all=len(without) == len(trained))


def _problem(flow: Dataflow, stop: str, layers: list[str], optimizer: str, *, is_all: bool) -> Problem:
    shown = " and ".join([", ".join(layers[: MAX_LISTED - 1]), *layers[MAX_LISTED - 1 : MAX_LISTED]])
    more = f" and {len(layers) - MAX_LISTED:,} more" if len(layers) > MAX_LISTED else ""
    key = flow.graph.types[stop].key
    outputs = [spec for spec in flow.facts[stop].outputs.values() if isinstance(spec, Spec)]
    reason = STOPS.get(key) or f"outputs {outputs[0].dtype.name}, which has no gradient"
    remedy = "Connect a layer to the loss without it" if is_all else f"Freeze {layers[0]}, or connect it to the loss"
    message = (
        f"{shown}{more} get{'s' if len(layers) == 1 else ''} no gradient from {optimizer}, because {stop} {reason}. "
        f"{remedy}{'' if is_all else f' without {stop}'}."
    )
    fix = None if is_all or "." in layers[0] else quick_fixes.freeze(layers[0])
    return Problem("error" if is_all else "warning", "no-gradient", message, node=stop, fix=fix)


def _differentiable_sources(flow: Dataflow, name: str) -> list[str]:
    """The nodes whose outputs get a gradient from a node."""
    if flow.graph.types[name].key in STOPS:
        return []
    ends = flow.graph.sources(name).values()
    return [end.node for end in ends if not isinstance(spec := flow.value(end), Spec) or spec.dtype.is_floating_point]


def _stop(flow: Dataflow, layer: str, optimizer: str) -> str | None:
    """The first node after a layer that stops its gradient."""
    graph = flow.graph
    used = graph.upstream([optimizer])

    def readers(name: str) -> list[str]:
        return [
            reader.node
            for port in graph.types[name].outputs
            for reader in graph.readers(Endpoint(name, port.name))
            if reader.node in used
        ]

    for name in walk([layer], readers):
        outputs = [spec for spec in flow.facts[name].outputs.values() if isinstance(spec, Spec)]
        is_whole = bool(outputs) and not any(spec.dtype.is_floating_point for spec in outputs)
        if name != layer and (graph.types[name].key in STOPS or is_whole):
            return name
    return None


__all__ = ["gradient_problems"]
