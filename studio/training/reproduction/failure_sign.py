"""How a training step fails: what two steps must have in common to fail the same way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import engine
from engine import fit, random
from engine.fit.step_functions import step as training_step
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.program import Program
from studio.nodes.types import Role
from studio.training.breakpoints.find_origin import find_origin
from studio.training.diagnosis.divergence import FACTOR
from studio.training.failures import error_message
from studio.training.stepping.task_copy import StepState, copy_task

FailureKind: TypeAlias = Literal["error", "activation", "gradient", "input", "parameter", "update", "loss"]

_LABELS: dict[FailureKind, str] = {
    "activation": "computes {value}",
    "gradient": "computes a gradient with {value}",
    "input": "reads {value} from the data",
    "parameter": "has {value} in its weights",
    "update": "sets weights to {value}",
    "loss": "is {value}",
}


@dataclass(frozen=True, slots=True)
class FailureSign:
    """The failure of a training step."""

    kind: FailureKind
    node: str | None
    """Path in the flat graph."""
    error: str = ""
    """Type of the exception."""
    message: str = ""
    value: str = ""
    """"NaN" or "infinity", or the loss."""

    def is_same(self, other: FailureSign | None) -> bool:
        """Whether a step fails the same way: the same exception, or the first bad value, at the same node."""
        return other is not None and (self.kind, self.node, self.error) == (other.kind, other.node, other.error)

    def at(self, node: str | None) -> FailureSign:
        return replace(self, node=node)

    def __str__(self) -> str:
        node = self.node or "The step"
        if self.kind == "error":
            return f"{node} raises {self.error}: {self.message}"
        return f"{node} {_LABELS[self.kind].format(value=self.value)}."


def failure_of(flow: Dataflow, program: Program, like: fit.Task, state: StepState) -> FailureSign | None:
    """How a training step fails, computed on a copy of a task; None if it does not."""
    task = copy_task(program, like, state)
    try:
        with random.drawing_from(task.stream):
            origin = find_origin(task, program, flow.graph, state.batch)
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        return error_sign(error, program)
    if origin is not None and (task.scaler is None or origin.kind != "gradient"):  # a scaler skips such steps
        kind: Any = "parameter" if origin.kind in ("parameter", "buffer") else origin.kind
        known = kind if kind in _LABELS else "activation"
        return FailureSign(known, origin.node, value=str(origin.value))
    return _failure_of_update(flow, program, task, state)


def error_sign(error: Exception, program: Program) -> FailureSign:
    """The failure of a step that raised an exception."""
    return FailureSign("error", program.node_of(error), type(error).__name__, error_message(error, program))


def _failure_of_update(flow: Dataflow, program: Program, task: fit.Task, state: StepState) -> FailureSign | None:
    for module in task.modules.values():
        module.train()
    try:
        with random.drawing_from(task.stream):
            losses = training_step(task, state.batch)
    except Exception as error:  # noqa: BLE001 - as above
        return error_sign(error, program)
    for name, optimizer in task.optimizers.items():
        trained = (parameter for group in optimizer.param_groups for parameter in group["params"])
        if not all(is_finite(parameter) for parameter in trained):
            return FailureSign("update", name, value="NaN or infinity")
    for optimizer, loss in losses.items():
        value = float(loss.detach().item())
        if value > FACTOR:
            name = next(name for name, each in task.optimizers.items() if each is optimizer)
            source = flow.graph.source(name, "loss")
            while source is not None and flow.graph.types[source.node].role is Role.LOSS_SUM:
                source = next(iter(flow.graph.sources(source.node).values()), None)
            return FailureSign("loss", None if source is None else source.node, value=f"{value:.4g}")
    return None


def is_finite(tensor: Any) -> bool:
    """Whether a tensor has no NaN and no infinity."""
    return not tensor.dtype.is_floating_point or bool(engine.isfinite(tensor.detach()).all().item())


__all__ = ["FailureKind", "FailureSign", "error_sign", "failure_of", "is_finite"]
