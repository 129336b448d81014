"""Computes what visible probes show, in a background thread, also while a run trains."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from studio.training.data.data_chain import ChainOpener
from studio.training.probing.probe_list import Probe, target_of
from studio.training.probing.probe_views import (
    KnownValues,
    ProbeResult,
    ProbeViews,
    ViewRequest,
    make_views,
    measured_text,
)
from studio.training.probing.probe_weights import WeightsRequest
from studio.ui.latest_task import LatestTask
from studio.ui.project.probes.probe_store import ProbeKey, ProbeStore
from studio.ui.project.probes.shown_weights import identity, shown_weights
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.shown_moment import ShownMoment
from studio.ui.project.training_runner import TrainingRunner

MAX_SHARE = 0.05
"""Largest share of the time that probes compute while a run trains."""
_COMPUTING = ProbeResult()


class ProbeComputer(QObject):
    """Results by probe. Only probes that a viewer shows are computed.

    While a run trains, they are computed again every `interval` steps, or as often as `MAX_SHARE` allows.
    """

    changed = Signal()
    """Results or `is_busy` changed."""

    def __init__(
        self,
        store: ProjectStore,
        runner: TrainingRunner,
        moment: ShownMoment,
        probes: ProbeStore,
        interval: int,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._runner, self._moment, self._probes = store, runner, moment, probes
        self._interval = interval
        self._opener = ChainOpener()
        """Used in the worker thread only."""
        self._task = LatestTask("gradwire-probes", self)
        self._task.finished.connect(self._on_finished)
        self._shown: dict[str, frozenset[ProbeKey]] = {}
        self._results: dict[ProbeKey, ProbeResult] = {}
        self._known: KnownValues | None = None
        self._weights: WeightsRequest | None = None
        """What `_known` was computed for."""
        self._views: tuple[object, ...] = ()
        """The last request, so that it is not repeated."""
        self._step = 0
        self._earliest = 0.0
        self._to_verify = False
        self._cancelled = threading.Event()
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self._request)
        probes.changed.connect(self._soon.start)
        store.report_changed.connect(self._soon.start)
        moment.changed.connect(self._on_moment_changed)
        runner.events.connect(self._on_events)
        runner.state_changed.connect(self._on_state_changed)

    # -- reading

    @property
    def is_busy(self) -> bool:
        return self._task.is_busy

    @property
    def interval(self) -> int:
        """Steps between two updates while a run trains; 0 for none."""
        return self._interval

    def result(self, key: ProbeKey) -> ProbeResult:
        return self._results.get(key, _COMPUTING)

    # -- changing

    def set_interval(self, steps: int) -> None:
        self._interval = steps

    def watch(self, viewer: str, keys: Iterable[ProbeKey]) -> None:
        """Set which probes a viewer shows now."""
        shown = frozenset(keys)
        if shown == self._shown.get(viewer, frozenset()):
            return
        self._shown[viewer] = shown
        if self._visible:
            self._soon.start()
        else:
            self.cancel()

    def verify(self) -> None:
        """Check the shown values by recomputation with the training program."""
        self._to_verify = True
        self._request()

    def refresh(self) -> None:
        """Compute with the newest weights, now."""
        self._known = self._weights = None
        self._views = ()
        self._request()

    def cancel(self) -> None:
        """Stop computing after the current node."""
        self._cancelled.set()
        self._task.cancel()
        self._views = ()

    def close(self) -> None:
        self._soon.stop()
        self.cancel()

    # -- requests

    @property
    def _visible(self) -> Collection[ProbeKey]:
        return frozenset().union(*self._shown.values())

    def _on_events(self, events: list[object]) -> None:
        """Compute again in a run, every `interval` steps."""
        if not self._visible or not self._moment.is_live or not self._interval or self._task.is_busy:
            return
        step = self._runner.steps
        is_due = step < self._step or step - self._step >= self._interval or not self._step
        if step and is_due and time.monotonic() >= self._earliest:
            self.refresh()

    def _on_state_changed(self, state: str) -> None:
        if state == "running":
            self._earliest = 0.0  # what was computed before has not slowed the run
        else:
            self.refresh()

    def _on_moment_changed(self) -> None:
        request = shown_weights(self._runner, self._moment)
        if self._weights is None or identity(request) != identity(self._weights):
            self._soon.start()

    def _request(self) -> None:
        store = self._store
        visible = [probe for probe in self._probes.probes if probe.key in self._visible]
        if not visible or not store.is_checked or store.report.dataflow is None:
            return
        report = store.check_report
        weights = shown_weights(self._runner, self._moment)
        requests = tuple(ViewRequest(target_of(probe, report), probe.view, probe.index) for probe in visible)
        views = (id(report), identity(weights), tuple(probe.key for probe in visible), requests)
        is_verified, self._to_verify = self._to_verify, False
        if views == self._views and not is_verified:
            return
        is_same = self._weights is not None and identity(weights) == identity(self._weights)
        known = self._known if is_same else None
        self._cancelled.set()
        self._cancelled = threading.Event()
        self._views, self._weights = views, weights
        work = partial(
            make_views,
            report,
            requests,
            weights,
            self._opener,
            known,
            is_verified=is_verified,
            is_cancelled=self._cancelled.is_set,
        )
        self._task.request((visible, self._cancelled), work)
        self.changed.emit()

    def _on_finished(self, key: object, result: object) -> None:
        if isinstance(result, Exception):
            raise result
        assert isinstance(key, tuple)
        assert isinstance(result, ProbeViews)
        visible, cancelled = key
        if not cancelled.is_set():
            self._known = result.known
            self._step = self._runner.steps if result.known is None else result.known.weights.step
            self._earliest = time.monotonic() + result.seconds * (1 / MAX_SHARE - 1)
            for probe, found in zip(visible, result.results, strict=True):
                self._results[probe.key] = self._with_measured(probe, found)
        self.changed.emit()

    def _with_measured(self, probe: Probe, found: ProbeResult) -> ProbeResult:
        """A result whose reason also tells the figures that were measured in the shown step."""
        statistics = self._moment.statistics
        target = target_of(probe, self._store.check_report)
        if not found.problem or self._moment.is_live or statistics is None or target is None:
            return found
        group = statistics.parameters if probe.kind == "parameter" else statistics.outputs
        text = measured_text(group.get(target.key, {}))
        return ProbeResult(problem=f"{found.problem}\nMeasured at step {statistics.step:,}: {text}") if text else found


__all__ = ["MAX_SHARE", "ProbeComputer"]
