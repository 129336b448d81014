"""Statistics of the tensors that conditions name, measured on the batch of a step before it runs."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine import Tensor, fit, no_grad
from engine.graph import SourceLocation
from engine.modes import MODES
from engine.nonfinite.finite_check import unobserved
from engine.observe import Relay, call_site
from engine.ops.record import Op
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.program import Program
from studio.training.breakpoints.program_locations import ProgramLocations

_Figures = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class StepFigures:
    """Figures of one step, by path."""

    outputs: Mapping[str, Mapping[str, float]]
    """By node and port: "conv1.output"."""
    parameters: Mapping[str, Mapping[str, float]]
    """By path in the weights file: "conv1.weight"."""


class StepMeasurement:
    """Measures a step: forward and backward once more, in eager mode, without changing the state of the task.

    Args:
        task: the task
        program: the program that it was built from
        graph: the flat graph of the program
        paths: nodes, instances, outputs and parameters to measure
        all_gradients: measure the gradients of all parameters
    """

    def __init__(
        self, task: fit.Task, program: Program, graph: NodeGraph, paths: Collection[str], *, all_gradients: bool
    ) -> None:
        self._task, self._graph, self._paths, self._all_gradients = task, graph, paths, all_gradients
        self._locations = ProgramLocations(program, task)
        roots = {"" if name == "model" else f"{name}.": module for name, module in task.modules.items()}
        self._parameters = {
            f"{prefix}{path}": parameter
            for prefix, root in roots.items()
            for path, parameter in root.named_parameters()
            if parameter.requires_grad
        }
        self._outputs: dict[str, _Figures] = {}
        self._figures: dict[str, _Figures] = {}
        self._before: dict[str, Tensor] = {}

    def measure(self, batch: Any) -> None:
        """Measure a batch before its step. `read` adds the change that the step made."""
        task = self._task
        scale = 1.0 if task.scaler is None else task.scaler.get_scale()
        observer = _LastOutputs(self._locations)
        with fit.preserve_state(task), fit.preserve_modes(task):
            for module in task.modules.values():
                module.train()
            with observer:
                losses = fit.compute_losses(task, batch)
            kept = self._named(observer.outputs)
            for value in kept.values():
                if value.requires_grad:
                    value.retain_grad()
            fit.compute_gradients(task, losses)
            with no_grad():
                self._outputs = {key: _output_figures(value, scale) for key, value in kept.items()}
                self._figures, self._before = {}, {}
                for path, parameter in self._parameters.items():
                    is_wanted = self._is_wanted(path)
                    if not is_wanted and not self._all_gradients:
                        continue
                    figures = self._figures[path] = {}
                    if parameter.grad is not None:
                        figures["gradient"] = _norm(parameter.grad) / scale
                    if is_wanted:
                        figures["norm"] = _norm(parameter)
                        self._before[path] = parameter.detach().clone()

    def read(self) -> StepFigures:
        """The figures of the step, after it."""
        with no_grad():
            for path, before in self._before.items():
                self._figures[path]["update"] = _norm(self._parameters[path] - before)
        return StepFigures(_numbers(self._outputs), _numbers(self._figures))

    def _named(self, outputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The outputs of nodes that are wanted, by node and port."""
        found: dict[str, Tensor] = {}
        for path, value in outputs.items():
            kind = self._graph.types.get(path)
            key = f"{path}.{kind.outputs[0].name}" if kind is not None and kind.outputs else path
            if self._is_wanted(key):
                found[key] = value
        return found

    def _is_wanted(self, key: str) -> bool:
        return any(key == path or key.startswith(f"{path}.") for path in self._paths)


class _LastOutputs(Relay):
    """Observer that keeps the result of the last op of each node."""

    def __init__(self, locations: ProgramLocations) -> None:
        super().__init__(None)
        self.outputs: dict[str, Tensor] = {}
        self._locations = locations

    def __enter__(self) -> None:
        self._before, MODES.observer = MODES.observer, self

    def __exit__(self, *_: object) -> None:
        MODES.observer = self._before

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], outs: Sequence[Any]) -> SourceLocation:
        location = self._locations(sys._getframe(1))
        if location is not None and location.path is not None and outs[0].dtype.is_floating_point:
            self.outputs[location.path] = outs[0]
        return call_site()


def _output_figures(value: Tensor, scale: float) -> _Figures:
    with unobserved():
        numbers = value.detach().float()
        finite = numbers.isfinite()
        kept = numbers.where(finite, 0.0)
        count = finite.float().sum().clamp(min=1.0)
        mean = kept.sum() / count
        centered = (numbers - mean).where(finite, 0.0)
        zero = numbers == 0
        figures = {
            "mean": mean,
            "std": ((centered * centered).sum() / count).sqrt(),
            "low": numbers.where(finite, float("inf")).min(),
            "high": numbers.where(finite, float("-inf")).max(),
            "norm": (kept * kept).sum().sqrt(),
            "zeros": zero.float().mean(),
            "nan": numbers.isnan().float().sum(),
            "infinite": numbers.isinf().float().sum(),
        }
        if numbers.ndim:
            figures["dead"] = zero.all(0).float().mean()
        if value.grad is not None:
            figures["gradient"] = _norm(value.grad) / scale
    return figures


def _norm(values: Tensor) -> Tensor:
    numbers = values.detach().float()
    return (numbers * numbers).sum().sqrt()


def _numbers(figures: Mapping[str, _Figures]) -> dict[str, dict[str, float]]:
    return {path: {name: float(value.item()) for name, value in each.items()} for path, each in figures.items()}


__all__ = ["StepFigures", "StepMeasurement"]
