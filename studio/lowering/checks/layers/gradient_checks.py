"""Trained layers that get no gradient, because only operations without one lead from them to the loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from engine.shape import Spec
from studio.document.graph_walk import walk
from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.data.batch_reductions import CLASS_NUMBERS
from studio.lowering.checks.training_goal_checks import trained_layers
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role

MAX_LISTED = 5
"""Maximum number of layers that a message names."""

STOPS = {
    "ops.detach": "stops gradients",
    "nn.Fill": "outputs a constant",
    "nn.Noise": "outputs random numbers",
    "nn.Positions": "outputs the positions of a sequence",
    "nn.CausalMask": "outputs a mask made from the sizes of its input alone, to be added to attention scores",
    **dict.fromkeys(("ops.zeros_like", "ops.ones_like", "ops.rand_like", "ops.randn_like"), "uses no values"),
    **dict.fromkeys(("nn.ConstantTensor", "nn.RangeTensor", "nn.LinspaceTensor"), "outputs a constant"),
    **dict.fromkeys(("nn.IdentityMatrix", "nn.LearnedTensor"), "reads only the size of the batch"),
    **dict.fromkeys(
        ("ops.floor", "ops.ceil", "ops.trunc", "ops.round", "ops.sign", "ops.floor_divide"),
        "is constant between its steps",
    ),
}
"""Operations whose result depends on their inputs without a gradient, with the reason."""


_CASTS = ("Tensor.to",)
"""Operations of another dtype that can be left out."""
_CONSTANT_FACTORS = {"ops.mul": 1, "ops.pow": 1}
"""Operations with a number, by which 0 makes the result a constant, and a number that does not."""


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
    listed = layers[:MAX_LISTED]
    more = f"{len(layers) - MAX_LISTED:,} more" if len(layers) > MAX_LISTED else listed.pop()
    shown = f"{', '.join(listed)} and {more}" if listed else more
    outputs = [spec for spec in flow.facts[stop].outputs.values() if isinstance(spec, Spec)]
    reason = _reason(flow, stop) or f"outputs {outputs[0].dtype.name}, which has no gradient"
    is_inner = any("." in name for name in layers)
    freezing = () if is_all or is_inner else (quick_fixes.freeze(*layers),)
    removal = _removal(flow, stop)
    fixes = freezing if removal is None else (removal, *freezing)
    if removal is not None:
        remedy = removal.title if is_all else f"{removal.title}, or freeze {_them(layers)}"
    elif is_all:
        remedy = "Connect a layer to the loss without it"
    else:
        remedy = f"Freeze {_them(layers)}, or connect {_them(layers, 'it')} to the loss without {stop}"
    message = (
        f"{shown} get{'s' if len(layers) == 1 else ''} no gradient from {optimizer}, because {stop} {reason}. {remedy}."
    )
    severity = "error" if is_all else "warning"
    fix = next(iter(fixes), None)
    if fix is not None and fixes[1:]:
        fix = fix.because("It lets all layers learn.")
    return Problem(severity, "no-gradient", message, node=stop, fix=fix, others=fixes[1:], evidence={"layers": layers})


def _them(layers: list[str], one: str | None = None) -> str:
    """Layers that the sentence has already named."""
    return (one or layers[0]) if len(layers) == 1 else "them"


def _removal(flow: Dataflow, stop: str) -> Fix | None:
    """A fix after which a node passes gradients on."""
    facts = flow.facts[stop]
    if (zero := _zero_factor(flow, stop)) is not None:
        return _without_factor(flow, stop, zero)
    if facts.type.key in _CONSTANT_FACTORS:
        return quick_fixes.assign(stop, "y", _CONSTANT_FACTORS[facts.type.key])
    if facts.type.key in CLASS_NUMBERS and _is_read_by_losses(flow, stop):
        return quick_fixes.bypass(stop, facts.type.inputs[0].name)
    value = facts.inputs.get(facts.type.inputs[0].name)
    output = next((each for each in facts.outputs.values() if isinstance(each, Spec)), None)
    if not isinstance(value, Spec) or output is None or value.shape != output.shape:
        return None
    is_removable = facts.type.key in STOPS or facts.type.key in _CASTS
    return quick_fixes.bypass(stop, facts.type.inputs[0].name) if is_removable else None


def _is_read_by_losses(flow: Dataflow, name: str) -> bool:
    readers = flow.graph.readers(Endpoint(name, flow.graph.types[name].outputs[0].name))
    return all(flow.graph.types[each.node].role in (Role.LOSS, Role.METRIC) for each in readers)


def _reason(flow: Dataflow, name: str) -> str | None:
    """Why the output of a node depends on its inputs without a gradient; None if it has one."""
    key = flow.graph.types[name].key
    if key not in _CONSTANT_FACTORS and key != "ops.clamp":
        return STOPS.get(key)
    facts = flow.facts.get(name)
    if facts is None:  # in a cycle
        return None
    if _zero_factor(flow, name) is not None:
        return "multiplies by 0"
    if facts.type.key in _CONSTANT_FACTORS and facts.arguments.values.get("y") == 0 and "y" not in facts.inputs:
        return "multiplies by 0" if facts.type.key == "ops.mul" else "outputs 1 for each value, the power 0"
    if facts.type.key == "ops.clamp" and _is_point(facts.arguments.values):
        return "outputs one value, because min equals max"
    return None


def _zero_factor(flow: Dataflow, name: str) -> str | None:
    """The port of a product at which it gets a tensor of zeros."""
    if flow.graph.types[name].key != "ops.mul":
        return None
    return next((port for port, end in flow.graph.sources(name).items() if _is_zero(flow, end.node)), None)


def _without_factor(flow: Dataflow, name: str, zero: str) -> Fix | None:
    """Remove a product with zeros, and the zeros if nothing else reads them."""
    sources = flow.graph.sources(name)
    kept = next((port for port in sources if port != zero), None)
    if kept is None:
        return None
    removal = quick_fixes.bypass(name, kept)
    if len(flow.graph.readers(sources[zero])) > 1:
        return removal
    zeros = sources[zero].node
    return quick_fixes.all_of([removal, quick_fixes.remove([zeros], title=zeros)], f"Remove {name}")


def _is_zero(flow: Dataflow, name: str) -> bool:
    """Whether a node outputs only 0."""
    facts = flow.facts.get(name)
    if facts is None or facts.type.key != "nn.ConstantTensor":
        return False
    values = facts.arguments.values.get("values")
    return values is not None and not np.any(np.asarray(values))


def _is_point(values: Mapping[str, Any]) -> bool:
    low, high = values.get("min"), values.get("max")
    return low is not None and low == high


def _differentiable_sources(flow: Dataflow, name: str) -> list[str]:
    """The nodes whose outputs get a gradient from a node."""
    if _reason(flow, name) is not None:
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
        if name != layer and (_reason(flow, name) is not None or is_whole):
            return name
    return None


__all__ = ["gradient_problems"]
