"""Do values and gradients reach every layer?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

from engine import fit, nn
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role
from studio.training.experiments.experiment import Bars, Experiment, Outcome, Outcomes, Step
from studio.training.experiments.layer_hooks import Watcher, leaf_layers, watched
from studio.training.experiments.project_copy import ProjectCopy

_SECONDS, _MIN_STEPS, _MAX_STEPS = 2.0, 8, 30
"""Training before the second measurement."""
_BATCHES = 3
_VANISHED = 1e-7
"""Smallest gradient of a layer, relative to its weights, as a share of that of the layer with the largest one."""
_EXPLODED = 1e4
"""Largest gradient relative to the weights."""
_DEAD = 0.9
"""Share of units without an output or in saturation that keeps a layer from learning."""
_BARS = 24
_RECTIFIERS = (nn.ReLU, nn.ReLU6)
_SATURATING = {nn.Sigmoid: (0.01, 0.99), nn.Tanh: (-0.99, 0.99)}


@dataclass
class Flow:
    """Measurements by the path of a layer."""

    gradients: dict[str, float] = field(default_factory=dict[str, float])
    """Size of the gradient relative to the weights."""
    outputs: dict[str, float] = field(default_factory=dict[str, float])
    """Root mean square of the outputs."""
    dead: dict[str, float] = field(default_factory=dict[str, float])
    """Share of units that are 0 for all samples."""
    saturated: dict[str, float] = field(default_factory=dict[str, float])
    """Share of outputs close to a bound of the activation."""


def _run(copy: ProjectCopy, outcomes: Outcomes) -> Iterator[Step]:
    steps = copy.steps(_SECONDS, _MIN_STEPS, _MAX_STEPS)
    with copy.trial() as train:
        first = _measured(copy)
        for number, batch in zip(range(1, steps + 1), copy.cycle(), strict=False):
            train(batch)
            if number % 4 == 0:
                yield number / steps, _picture(first)
        flow = _measured(copy)
    picture = _picture(flow)
    evidence = {
        "steps": steps, "gradients": flow.gradients, "outputs": flow.outputs, "dead": flow.dead,
        "saturated": flow.saturated,
    }  # fmt: skip
    for found, when in ((first, "before training"), (flow, f"after {steps} steps")):
        problem = _mistake(copy.graph, found, when, evidence)
        if problem is not None:
            step = "Look at the activations before this node, its initialization and its normalization."
            yield Outcome("problem", problem.message, step, _finite(evidence), picture, (problem,))
            return
    if not flow.gradients:
        yield Outcome("inconclusive", "No layer with weights is trained.", "", evidence)
        return
    low, high = min(flow.gradients.values()), max(flow.gradients.values())
    text = f"Gradients reach all {len(flow.gradients)} layers: {low:.2g} to {high:.2g} of the size of their weights."
    dead = max(flow.dead.items(), key=lambda item: item[1], default=None)
    text += f" Most dead units: {dead[1]:.0%} of {dead[0]}." if dead and dead[1] > 0 else ""
    yield Outcome("passed", text, "", evidence, picture)


def _measured(copy: ProjectCopy) -> Flow:
    """Forward and backward passes over some batches, which change neither weights nor running averages."""
    flow, batches = Flow(), copy.batches[:_BATCHES]
    silent: dict[str, Any] = {}
    with fit.preserve_state(copy.task), watched(leaf_layers(copy.task.model), _watcher(flow, silent)):
        for batch in batches:
            losses = copy.task.losses(batch)
            reduce(add, losses.values()).backward()
        for name, parameter in copy.task.model.named_parameters():
            if parameter.ndim < 2 or not parameter.requires_grad:
                continue
            size = _rms(parameter)
            gradient = 0.0 if parameter.grad is None else _rms(parameter.grad)
            flow.gradients[name.rpartition(".")[0]] = gradient / size if size else gradient
    flow.dead = {name: float(units.float().mean().item()) for name, units in silent.items()}
    count = len(batches)
    flow.outputs = {name: value / count for name, value in flow.outputs.items()}
    flow.saturated = {name: value / count for name, value in flow.saturated.items()}
    return flow


def _watcher(flow: Flow, silent: dict[str, Any]) -> Watcher:
    """Adds the outputs of layers to a flow, and which units are 0 in all samples to `silent`."""

    def watch(name: str, module: Any, arguments: tuple[Any, ...], output: Any) -> None:
        value = output.detach().float()
        flow.outputs[name] = flow.outputs.get(name, 0.0) + _rms(value)
        if isinstance(module, _RECTIFIERS) and value.ndim > 1:
            zero = (value == 0).flatten(2).all(2).all(0) if value.ndim > 2 else (value == 0).all(0)
            silent[name] = zero & silent[name] if name in silent else zero
        if (bounds := _SATURATING.get(type(module))) is not None:
            outside = (value < bounds[0]) | (value > bounds[1])
            flow.saturated[name] = flow.saturated.get(name, 0.0) + float(outside.float().mean().item())

    return watch


def _mistake(graph: NodeGraph, flow: Flow, when: str, evidence: dict[str, Any]) -> Problem | None:
    """The first problem of a measurement; a cause before its consequences."""
    evidence, largest = _finite(evidence), max(flow.gradients.values(), default=0.0)
    for name, gradient in flow.gradients.items():
        if not math.isfinite(gradient) or gradient > _EXPLODED:
            text = f"The gradient of {name} {when} is {_size(gradient)} times its weights, so it explodes. "
            text += "Lower the learning rate, or set clip_norm to 1."
            return Problem("warning", "exploding-gradients", text, node=name, evidence=evidence)
    for name, share in flow.dead.items():
        if share > _DEAD:
            text = f"{share:.0%} of the units of {name} are 0 for all samples {when}, so nothing before it learns. "
            text += "Lower the learning rate, or use LeakyReLU."
            is_relu = name in graph.document.nodes and graph.types[name].key == "nn.ReLU" and "." not in name
            fix = quick_fixes.retype(name, "nn.LeakyReLU") if is_relu else None
            return Problem("warning", "dead-relu", text, node=name, fix=fix, evidence=evidence)
    for name, share in flow.saturated.items():
        if share > _DEAD:
            text = f"{share:.0%} of the outputs of {name} are at its limits {when}, where its gradient is almost 0. "
            text += "Normalize its inputs, or use ReLU."
            return Problem(
                "warning", "saturated-units", text, node=name, fix=_rectified(graph, [name]), evidence=evidence
            )
    for name, gradient in flow.gradients.items():
        if gradient < _VANISHED * largest:
            text = (
                f"The gradient of {name} {when} is {_size(gradient)} times its weights, and {largest:.2g} elsewhere. "
            )
            text += f"Check the activations between {name} and the loss."
            fix = _rectified(graph, graph.types)
            return Problem("warning", "vanishing-gradients", text, node=name, fix=fix, evidence=evidence)
    return None


def _rectified(graph: NodeGraph, names: Iterable[str]) -> Fix | None:
    """Use ReLU for hidden activations that squash their inputs."""
    squashing = [name for name in names if "." not in name and name in graph.types and _is_hidden(graph, name)]
    steps = [quick_fixes.retype(name, "nn.ReLU") for name in squashing]
    return quick_fixes.all_of(steps, "Use ReLU") if steps else None


def _is_hidden(graph: NodeGraph, name: str) -> bool:
    """Whether a node is a sigmoid or tanh whose output no loss or metric reads."""
    readers = (wire.target.node for wire in graph.outgoing_wires.get(name, ()))
    is_output = any(graph.types[reader].role in (Role.LOSS, Role.METRIC) for reader in readers)
    return graph.types[name].key in ("nn.Sigmoid", "nn.Tanh") and not is_output


def _finite(evidence: dict[str, Any]) -> dict[str, Any]:
    """The evidence with None in place of values that JSON does not have."""
    return {
        key: {name: each if math.isfinite(each) else None for name, each in value.items()} if isinstance(value, dict)
        else value
        for key, value in evidence.items()
    }  # fmt: skip


def _picture(flow: Flow) -> Bars:
    shown = list(flow.gradients.items())[:_BARS]
    return Bars("Gradient / weight", tuple(name for name, _ in shown), tuple(value for _, value in shown), is_log=True)


def _rms(tensor: Any) -> float:
    return float(tensor.detach().float().pow(2).mean().sqrt().item())


def _size(value: float) -> str:
    return "NaN" if math.isnan(value) else "infinitely many" if math.isinf(value) else f"{value:.2g}"


GRADIENT_FLOW = Experiment("gradients", "Gradient flow", "Do values and gradients reach every layer?", _run)

__all__ = ["GRADIENT_FLOW"]
