"""The functions that measure a training step, to be compiled: all that they use is an argument or a default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from engine import autograd
from engine.amp import autocast
from engine.compiler import CompiledFunction
from engine.dtypes import BY_NAME
from engine.fit.carried_states import restore_states, save_states
from engine.fit.task import Task
from engine.modes import no_grad
from engine.ops.movement.joined_elements import join_elements
from engine.tensors import Tensor
from studio.training.statistics.output_report import OutputCollector, OutputColumns, OutputReport

Losses = Callable[[Task, Any, OutputReport], Mapping[Any, Tensor]]


@dataclass(slots=True)
class Columns:
    """Where figures are among the numbers that a function returns; written while its Python code runs."""

    outputs: OutputColumns = field(default_factory=OutputColumns)
    parameters: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """Numbers of the gradients of each trained parameter, among those of all gradients."""


class ColumnSink:
    """Receives the columns when a function runs its Python code. A replayed function has those of an earlier call."""

    def __init__(self) -> None:
        self.columns: Columns | None = None

    def take(self) -> Columns | None:
        columns, self.columns = self.columns, None
        return columns


def measure_outputs(task: Task, batch: Any, losses: Losses, sink: ColumnSink) -> Tensor:
    """Statistics of outputs, then shares of dead units."""
    collector = OutputCollector(gradients=False)
    with no_grad(), _preserved(task), _precision(task):
        losses(task, batch, OutputReport(collector))
    collector.clear()
    with no_grad():
        sink.columns = Columns(collector.columns)
        return join_elements([*collector.statistics, *collector.dead])


def measure_gradients(task: Task, batch: Any, losses: Losses, sink: ColumnSink) -> Tensor:
    """As `measure_outputs`, then norms of the gradients of outputs and parameters."""
    collector = OutputCollector(gradients=True)
    with _preserved(task):
        with _precision(task):
            found = losses(task, batch, OutputReport(collector))
        collector.clear()
        columns = Columns(collector.columns)
        paths = {id(parameter): path for path, parameter in trained_parameters(task).items()}
        for number, (optimizer, loss) in enumerate(found.items(), start=1):
            parameters = [each for group in optimizer.param_groups for each in group["params"] if each.requires_grad]
            if not loss.requires_grad or not parameters:
                continue
            scaled = loss if task.scaler is None else task.scaler.scale(loss)
            gradients = autograd.grad(scaled, parameters, retain_graph=number < len(found), allow_unused=True)
            pairs = [
                (paths[id(parameter)], gradient)
                for parameter, gradient in zip(parameters, gradients, strict=True)
                if gradient is not None and id(parameter) in paths
            ]
            positions = collector.add_gradients([gradient for _, gradient in pairs])
            for (path, _), position in zip(pairs, positions, strict=True):
                columns.parameters.setdefault(path, []).append(position)
    with no_grad():
        sink.columns = columns
        return join_elements([*collector.statistics, *collector.dead, *collector.gradients])


def trained_parameters(task: Task) -> dict[str, Tensor]:
    """The parameters that are trained, by their path in the weights file; those of the model have no prefix."""
    return {
        path if name == "model" else f"{name}.{path}": parameter
        for name, module in task.modules.items()
        for path, parameter in module.named_parameters()
        if parameter.requires_grad
    }


def _precision(task: Task) -> Any:
    enabled = task.mixed_precision != "off"
    return autocast(task.device.type, BY_NAME[task.mixed_precision if enabled else "float32"], enabled=enabled)


@contextmanager
def _preserved(task: Task) -> Iterator[None]:
    """Restore what computing a batch changes: buffers and carried states. The caller restores the random state."""
    buffers = [(buffer, buffer.detach().clone()) for module in task.modules.values() for buffer in module.buffers()]
    carried = save_states(task)
    try:
        yield
    finally:
        with no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
        restore_states(task, carried)


@dataclass(frozen=True, slots=True)
class MeasuringFunctions:
    """The functions for a task: they take the task and a batch."""

    outputs: Callable[..., Tensor]
    gradients: Callable[..., Tensor]
    sink: ColumnSink


def measuring_functions(task: Task, losses: Losses, *, compile: bool) -> MeasuringFunctions:
    """The functions, compiled or not.

    Args:
        losses: computes the losses of a batch and reports outputs
    """
    sink = ColumnSink()

    # Defaults instead of closures: they never change, so compiled calls can be replayed.
    def outputs(task: Task, batch: Any, losses: Losses = losses, sink: ColumnSink = sink) -> Tensor:
        return measure_outputs(task, batch, losses, sink)

    def gradients(task: Task, batch: Any, losses: Losses = losses, sink: ColumnSink = sink) -> Tensor:
        return measure_gradients(task, batch, losses, sink)

    if not compile:
        return MeasuringFunctions(outputs, gradients, sink)
    outputs, gradients = (CompiledFunction(each, replay_classes=task.replay_classes) for each in (outputs, gradients))
    return MeasuringFunctions(outputs, gradients, sink)


__all__ = ["Columns", "MeasuringFunctions", "measuring_functions", "trained_parameters"]
