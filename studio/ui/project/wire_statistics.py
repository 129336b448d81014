"""Statistics of the tensors on wires and at ports, computed in a background thread on a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from PySide6.QtCore import QObject, Signal

from studio.document.model import Endpoint
from studio.lowering.report import Report
from studio.lowering.scope_report import scope_at
from studio.training.data.data_chain import ChainOpener
from studio.training.probing.node_probe import NodeProbe, ProbeError
from studio.training.probing.probe_weights import ProbedWeights, WeightsRequest, read_weights
from studio.training.probing.tensor_statistics import TensorStatistics, wire_statistics
from studio.training.statistics.step_statistics import Figures
from studio.ui.latest_task import LatestTask
from studio.ui.project.probes.shown_weights import identity, shown_weights
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.scope_store import ScopeStore
from studio.ui.project.shown_moment import ShownMoment
from studio.ui.project.training_runner import TrainingRunner


@dataclass(frozen=True, slots=True)
class WireStatistics:
    """What is known of the tensor on a wire."""

    statistics: TensorStatistics | None = None
    problem: str = ""
    """Why there are no statistics; empty while they are computed."""
    source: str = ""
    """Where the weights come from: "Run 3, step 120"."""
    measured: Figures | None = None
    """What the run measured in the shown step, instead of `statistics`."""


@dataclass(slots=True)
class _Known:
    """The statistics of one version of the graph, with weights of one step of a run."""

    report: Report
    asked_at: tuple[object, ...]
    """The weights that they were asked for."""
    weights: ProbedWeights | None = None
    found: dict[Endpoint, TensorStatistics] = field(default_factory=dict[Endpoint, TensorStatistics])


class WireStatisticsSource(QObject):
    """Computes statistics when they are asked for, one wire at a time, and keeps them until the graph changes."""

    changed = Signal()
    """The statistics of the requested wire are known, or why there are none."""

    def __init__(
        self,
        store: ProjectStore,
        scope: ScopeStore,
        runner: TrainingRunner,
        moment: ShownMoment,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._scope, self._runner, self._moment = store, scope, runner, moment
        self._task = LatestTask("gradwire-wires", self)
        self._task.finished.connect(self._on_finished)
        self._opener = ChainOpener()
        """Used in the worker thread only."""
        self._known: _Known | None = None
        self._problems: dict[Endpoint, str] = {}
        self._pending: Endpoint | None = None
        """What is being computed and was not cancelled."""
        self._cancelled = threading.Event()

    @property
    def is_busy(self) -> bool:
        """Whether something is being computed."""
        return self._task.is_busy

    def request(self, source: Endpoint) -> WireStatistics:
        """The statistics of an output of the shown graph, as far as known; the rest is computed now."""
        if not self._store.is_checked:
            self.cancel()
            return WireStatistics(problem="The graph is being checked.")
        report = self._store.check_report
        end = _end(report, self._scope, source)
        if end is not None and (measured := self._measured(end)) is not None:
            self.cancel()
            return measured
        if end is not None and end == self._pending:
            return WireStatistics()
        self.cancel()
        if end is None:
            return WireStatistics(problem="No data reaches it.")
        weights = shown_weights(self._runner, self._moment)
        step = (*identity(weights), self._runner.steps if weights.session is not None else weights.step)
        known = self._known
        if known is not None and (known.report is not report or known.asked_at != step):
            known = self._known = None
            self._problems.clear()
        if known is not None and end in known.found:
            return WireStatistics(known.found[end], source="" if known.weights is None else known.weights.source)
        if end in self._problems and known is not None:
            return WireStatistics(problem=self._problems[end])
        self._cancelled = threading.Event()
        work = partial(
            _compute, report, end, self._opener, weights, known or _Known(report, step), self._cancelled.is_set
        )
        self._pending = end
        self._task.request(end, work)
        return WireStatistics()

    def cancel(self) -> None:
        """Stop computing after the current node. What is known until then is kept."""
        self._cancelled.set()
        self._pending = None

    def close(self) -> None:
        self.cancel()
        self._task.cancel()

    def _measured(self, end: Endpoint) -> WireStatistics | None:
        """What was measured of an output in a chosen step; None if its values are computed, with the weights."""
        moment = None if self._moment.is_live else self._moment.moment
        if moment is None or moment.checkpoint is not None or moment.statistics is None:
            return None
        figures = moment.statistics.outputs.get(f"{end.node}.{end.port}")
        return None if figures is None else WireStatistics(measured=figures, source=moment.label)

    def _on_finished(self, end: object, result: object) -> None:
        assert isinstance(end, Endpoint)
        if isinstance(result, Exception):
            raise result
        assert isinstance(result, _Result)
        known = result.known
        if self._known is not None and (self._known.report, self._known.asked_at) == (known.report, known.asked_at):
            known.found = {**self._known.found, **known.found}
        if known.report is self._store.check_report:
            self._known = known
            if result.problem:
                self._problems[end] = result.problem
        if end == self._pending:
            self._pending = None
            self.changed.emit()


@dataclass(frozen=True, slots=True)
class _Result:
    known: _Known
    problem: str = ""


def _compute(
    report: Report,
    end: Endpoint,
    opener: ChainOpener,
    weights: WeightsRequest,
    earlier: _Known,
    is_cancelled: Callable[[], bool],
) -> _Result:
    """Runs in the worker thread."""
    known = _Known(report, earlier.asked_at, earlier.weights)
    try:
        read = known.weights = earlier.weights or read_weights(weights, report)
        for found in wire_statistics(NodeProbe(report.checked, opener, read.values), end):
            known.found.update(found)
            if is_cancelled():
                break
    except ProbeError as error:
        return _Result(known, str(error))
    except MemoryError:
        return _Result(known, "There is not enough memory for a batch.")
    return _Result(known)


def _end(report: Report, scope: ScopeStore, source: Endpoint) -> Endpoint | None:
    """The output in the flat graph whose value an output of the shown graph has."""
    place = scope_at(report, scope.location)
    end = None if place is None else report.checked.expansion.source(place, source)
    return None if end is None or end.node not in report.checked.facts else report.checked.graph.unmuted(end)


__all__ = ["WireStatistics", "WireStatisticsSource"]
