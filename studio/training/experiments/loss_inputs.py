"""The tensors that the losses of a task compare, and the loss of a network that knows nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import engine
from engine import fit, nn
from studio.nodes.types import Role
from studio.training.experiments.layer_hooks import leaf_layers, watched
from studio.training.experiments.project_copy import ProjectCopy

CLASS_LOSSES = frozenset({"nn.CrossEntropyLoss", "nn.NLLLoss"})
YES_NO_LOSSES = frozenset({"nn.BCEWithLogitsLoss", "nn.BCELoss"})
NUMBER_LOSSES = frozenset({"nn.MSELoss", "nn.L1Loss", "nn.HuberLoss", "nn.SmoothL1Loss"})


@dataclass(frozen=True, slots=True)
class LossCall:
    """One call of a loss in the first forward passes."""

    node: str
    type: str
    input: Any
    target: Any
    value: float
    chance: float | None
    """The loss of constant predictions; None for losses for which it is not known."""


def loss_calls(copy: ProjectCopy, batches: int) -> list[LossCall]:
    """The calls of the losses with the initial weights, in training mode, without gradients."""
    found: list[LossCall] = []
    graph = copy.graph
    nodes = [name for name in graph.with_role(Role.LOSS) if isinstance(getattr(copy.task, name, None), nn.Module)]
    calls: dict[str, tuple[Any, ...]] = {}

    def watch(name: str, module: Any, arguments: tuple[Any, ...], output: Any) -> None:
        calls.setdefault(name, (module, arguments, output))

    losses = {name: getattr(copy.task, name) for name in nodes}
    with watched(losses, watch), fit.trial(copy.task, compile=False), engine.no_grad():
        for batch in copy.batches[:batches]:
            calls.clear()
            with fit.preserve_state(copy.task):
                copy.task.losses(batch)
                for name, (loss, tensors, value) in list(calls.items()):
                    kind = graph.types[name].key
                    chance = _chance(loss, kind, *tensors[:2]) if len(tensors) > 1 else None
                    target = tensors[1] if len(tensors) > 1 else None
                    found.append(LossCall(name, kind, tensors[0], target, float(value.item()), chance))
    return found


def is_constant(values: Any) -> bool:
    """Whether the rows of a tensor are equal. The first dimension is that of the samples."""
    if len(values) < 2 or not values.dtype.is_floating_point:
        return False
    spread = float((values - values[:1]).abs().max().item())
    return spread <= 1e-6 * max(float(values.abs().max().item()), 1e-6)


def first_constant_layer(copy: ProjectCopy) -> str | None:
    """The first layer whose output is the same for all samples of a batch."""
    found: list[str] = []

    def watch(name: str, module: Any, arguments: tuple[Any, ...], output: Any) -> None:
        if output.ndim > 1 and is_constant(output.detach()):
            found.append(name)

    with watched(leaf_layers(copy.task.model), watch), fit.preserve_state(copy.task), engine.no_grad():
        copy.task.losses(copy.batches[0])
    return found[0] if found else None


def _chance(loss: Any, kind: str, scores: Any, target: Any) -> float | None:
    """The loss of the same predictions for all samples: equal scores, or the mean of the targets."""
    if kind in CLASS_LOSSES:
        classes = scores.shape[1] if scores.ndim > 1 else scores.shape[0]
        constant = engine.full_like(scores, -math.log(classes))
    elif kind == "nn.BCEWithLogitsLoss":
        constant = engine.zeros_like(scores)
    elif kind == "nn.BCELoss":
        constant = engine.full_like(scores, 0.5)
    elif kind in NUMBER_LOSSES:
        constant = engine.full_like(scores, float(target.float().mean().item()))
    else:
        return None
    return float(loss.forward(constant, target).item())


__all__ = [
    "CLASS_LOSSES",
    "NUMBER_LOSSES",
    "YES_NO_LOSSES",
    "LossCall",
    "first_constant_layer",
    "is_constant",
    "loss_calls",
]
