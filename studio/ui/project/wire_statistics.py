"""Statistics of the tensors on wires, computed in a background thread on a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal

from studio.document.graph_comparison import compare
from studio.document.model import Document, Endpoint, Wire
from studio.lowering.report import Report
from studio.lowering.scope_report import scope_at
from studio.training.data.data_chain import ChainOpener
from studio.training.probing.node_probe import NodeProbe, ProbeError
from studio.training.probing.tensor_statistics import TensorStatistics, wire_statistics
from studio.training.training_session import TrainingSession
from studio.ui.latest_task import LatestTask
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.scope_store import ScopeStore
from studio.ui.project.training_runner import TrainingRunner

_WEIGHTS_SECONDS = 5.0
"""How long to wait for the batch that a run is training."""


@dataclass(frozen=True, slots=True)
class WireStatistics:
    """What is known of the tensor on a wire."""

    statistics: TensorStatistics | None = None
    problem: str = ""
    """Why there are no statistics; empty while they are computed."""
    source: str = ""
    """Where the weights come from: "Run 3, step 120"."""


@dataclass(slots=True)
class _Known:
    """The statistics of one version of the graph, with weights of one step of a run."""

    report: Report
    asked_at: tuple[str, int]
    """The last run and its steps when they were asked for."""
    source: str
    """Where the weights come from."""
    found: dict[Endpoint, TensorStatistics] = field(default_factory=dict[Endpoint, TensorStatistics])


class WireStatisticsSource(QObject):
    """Computes statistics when they are asked for, one wire at a time, and keeps them until the graph changes."""

    changed = Signal()
    """The statistics of the requested wire are known, or why there are none."""

    def __init__(
        self, store: ProjectStore, scope: ScopeStore, runner: TrainingRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._store, self._scope, self._runner = store, scope, runner
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

    def request(self, wire: Wire) -> WireStatistics:
        """The statistics of a wire of the shown graph, as far as known; the rest is computed now."""
        if not self._store.is_checked:
            self.cancel()
            return WireStatistics(problem="The graph is being checked.")
        report = self._store.check_report
        end = _end(report, self._scope, wire)
        if end is not None and end == self._pending:
            return WireStatistics()
        self.cancel()
        if end is None:
            return WireStatistics(problem="No data reaches this wire.")
        step = (self._run_name, self._runner.steps)
        known = self._known
        if known is not None and (known.report is not report or known.asked_at != step):
            known = self._known = None
            self._problems.clear()
        if known is not None and end in known.found:
            return WireStatistics(known.found[end], source=known.source)
        if end in self._problems and known is not None:
            return WireStatistics(problem=self._problems[end])
        self._cancelled = threading.Event()
        work = partial(_compute, report, end, self._opener, self._runner.session, step, self._cancelled.is_set)
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

    @property
    def _run_name(self) -> str:
        return "" if self._runner.run is None else self._runner.run.name

    def _on_finished(self, end: object, result: object) -> None:
        assert isinstance(end, Endpoint)
        if isinstance(result, Exception):
            raise result
        assert isinstance(result, _Result)
        known = result.known
        if self._known is not None and (self._known.report, self._known.source) == (known.report, known.source):
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
    session: TrainingSession | None,
    asked_at: tuple[str, int],
    is_cancelled: Callable[[], bool],
) -> _Result:
    """Runs in the worker thread."""
    step, weights = _weights(session, report.document)
    known = _Known(report, asked_at, f"{asked_at[0]}, step {step:,}" if weights else "Initial weights")
    try:
        for found in wire_statistics(NodeProbe(report.checked, opener, weights), end):
            known.found.update(found)
            if is_cancelled():
                break
    except ProbeError as error:
        return _Result(known, str(error))
    except MemoryError:
        return _Result(known, "There is not enough memory for a batch.")
    return _Result(known)


def _weights(session: TrainingSession | None, document: Document) -> tuple[int, Mapping[str, Any]]:
    """The step and the weights of the last run, if it trains or trained this graph; positions do not matter."""
    if session is None or (session.document is not document and compare(session.document, document)):
        return 0, {}
    return session.copy_weights(_WEIGHTS_SECONDS) or (0, {})


def _end(report: Report, scope: ScopeStore, wire: Wire) -> Endpoint | None:
    """The output in the flat graph whose value a wire of the shown graph carries."""
    place = scope_at(report, scope.location)
    end = None if place is None else report.checked.expansion.source(place, wire.source)
    return None if end is None or end.node not in report.checked.facts else report.checked.graph.unmuted(end)


__all__ = ["WireStatistics", "WireStatisticsSource"]
