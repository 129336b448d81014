"""Watches a training for breakpoints and for the first loss that is not finite, and returns to the state before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine import fit
from engine.errors import EngineError
from engine.nonfinite.finite_check import is_finite
from studio.document.breakpoints.condition import Quantity, parts_of, paths_in
from studio.document.breakpoints.condition_parser import parse_condition
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.program import Program
from studio.training.breakpoints.breakpoint_checker import BreakpointChecker, Found
from studio.training.breakpoints.breakpoint_hit import BreakpointRecord
from studio.training.breakpoints.condition_values import format_number
from studio.training.breakpoints.find_origin import find_origin
from studio.training.breakpoints.origin import Origin
from studio.training.breakpoints.step_measurement import StepMeasurement

MAX_UNASKED_BYTES = 64 * 2**20
"""Size of weights and optimizer states up to which a copy is kept without breakpoints, to name the origin of NaN."""


class BreakpointMonitor:
    """Checks each event of a training. A hit leaves the training in the state before the step.

    Args:
        task: the task, set up
        program: the program that it was built from
        graph: the flat graph of the program
        breakpoints: conditions, and whether each is enabled
        is_repeatable: whether a step computes the same when it runs again, which code that keeps a state does not
    """

    def __init__(
        self,
        task: fit.Task,
        program: Program,
        graph: NodeGraph,
        breakpoints: Mapping[str, bool],
        *,
        is_repeatable: bool,
    ) -> None:
        self._task, self._program, self._graph = task, program, graph
        self._is_repeatable = is_repeatable
        self._training: fit.Training | None = None
        self._measurement: StepMeasurement | None = None
        self._was_finite = True
        self.rewind = fit.StepRewind(before_step=self._measure)
        """What the training keeps."""
        self.checker = BreakpointChecker()
        self.origin: Origin | None = None
        """Origin of the last loss, gradient or weight that became NaN or infinite; None if it is unknown."""
        self.set_breakpoints(breakpoints)

    def attach(self, training: fit.Training) -> None:
        self._training = training

    def set_breakpoints(self, breakpoints: Mapping[str, bool]) -> None:
        """Replace the breakpoints; between two events of the training."""
        self.checker.set_conditions(breakpoints)
        is_set = bool(self.checker)
        self.rewind.max_bytes = None if is_set else MAX_UNASKED_BYTES if self._is_repeatable else 0
        self.rewind.every_step = not self._is_repeatable
        self.rewind.reports_nonfinite_batches = is_set
        self._measurement = None
        if self.checker.needs_statistics:
            conditions = [parse_condition(text) for text, enabled in breakpoints.items() if enabled]
            paths = {path for condition in conditions for path in paths_in(condition)}
            needs_all = any(Quantity("grad_norm") in parts_of(condition) for condition in conditions)
            self._measurement = StepMeasurement(self._task, self._program, self._graph, paths, all_gradients=needs_all)

    def unknown_paths(self, breakpoints: Mapping[str, bool]) -> dict[str, str]:
        """Conditions that name something that the graph does not have, with the first such path."""
        known = {*self._graph.types, *dict(self._task.model.named_parameters())}
        known |= {f"{name}.{port.name}" for name, kind in self._graph.types.items() for port in kind.outputs}
        found: dict[str, str] = {}
        for text, enabled in breakpoints.items():
            paths = paths_in(parse_condition(text)) if enabled else []
            wrong = [path for path in paths if path not in known and not any(k.startswith(f"{path}.") for k in known)]
            if wrong:
                found[text] = wrong[0]
        return found

    def check(self, event: fit.TrainingEvent) -> list[BreakpointRecord]:
        """The breakpoints that an event hits; the training is then in the state before the step."""
        training = self._training
        if not isinstance(event, fit.Step) or training is None:
            return []
        found: list[Found] = []
        wrong_parameters = self.checker.needs_nan_check and not self._has_finite_parameters()
        is_first = self._was_finite and (wrong_parameters or not event.finite)
        self._was_finite = not wrong_parameters and event.finite
        if is_first:
            self.origin = self._find_origin()
        if self.checker:
            found = self.checker.check_step(event, wrong_parameters=wrong_parameters, find_origin=lambda: self.origin)
            if self._measurement is not None:
                training.redo_step()
                found += self.checker.check_statistics(self._measurement.read())
        if not found:
            training.redo_step()
            return []
        if not training.is_undone:
            training.undo_step()
        origin = self.origin if not self._was_finite else None
        loss = event.loss if event.finite else None
        return [
            BreakpointRecord(
                each.condition,
                each.reason,
                event.step,
                event.epoch,
                event.batch,
                loss,
                format_number(event.loss),
                origin,
            )
            for each in found
        ]

    def _find_origin(self) -> Origin | None:
        """The origin of NaN in the last step, which is undone for it."""
        training = self._training
        if training is None or not training.undo_step():
            return None
        try:
            return find_origin(self._task, self._program, self._graph, training.last_batch)
        except (MemoryError, EngineError, RuntimeError, ValueError, TypeError):
            return None  # without an origin, the loss is still reported

    def _has_finite_parameters(self) -> bool:
        parameters = {id(p): p for module in self._task.modules.values() for p in module.parameters()}
        return all(is_finite(parameter) for parameter in parameters.values())

    def _measure(self, batch: Any) -> None:
        if self._measurement is not None:
            self._measurement.measure(batch)


__all__ = ["BreakpointMonitor"]
