"""The explanation of the compiled training step, from a few steps on a copy of the model or from a live run."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from statistics import median
from typing import Literal

from PySide6.QtCore import QObject, Signal

from engine import fit
from engine.compiler import Explanation
from studio.document.model import Document
from studio.lowering.program import LoweringError
from studio.training.explaining import Found, Stage, explaining, is_same_step
from studio.training.regions import RegionMap, on_canvas
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.training_runner import TrainingRunner

State = Literal["empty", "working", "ready", "failed"]

_SAMPLES = 15
"""Number of recent step times; their median is shown, because single steps are disturbed by other load."""
_JOIN_TIMEOUT = 5.0
"""Seconds to wait for the thread when the project is closed."""


class CompileExplainer(QObject):
    """Explains in a background thread. If several requests overlap, only the newest result is kept."""

    changed = Signal()
    """State, stage, explanation, or `is_stale` changed."""
    _found = Signal(int, object)

    def __init__(self, store: ProjectStore, runner: TrainingRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._runner = store, runner
        self._numbers = itertools.count(1)
        self._wanted = 0
        self._thread: threading.Thread | None = None
        self._watchers: set[str] = set()
        self._missed_news = False
        self._stale = False
        self._seconds: deque[float] = deque(maxlen=_SAMPLES)
        self._map: RegionMap | None = None
        self._asked: Document | None = None
        self.state: State = "empty"
        self.stage: Stage | None = None
        self.explanation: Explanation | None = None
        self.document: Document | None = None
        """Document that the explanation describes."""
        self.problem = ""
        """Why there is no explanation."""
        self.is_live = False
        """Whether the explanation comes from the steps of a run."""
        self._found.connect(self._take)
        store.document_changed.connect(self._check_stale)
        runner.events.connect(self._follow)

    # -- reading

    @property
    def is_stale(self) -> bool:
        """Whether the graph has changed since the explanation was made."""
        return self._stale

    @property
    def map(self) -> RegionMap:
        """Compiled regions mapped to the nodes of the canvas."""
        if self._map is None:
            document = self._store.document
            self._map = on_canvas(self.explanation, document.nodes, document.wires) if self.explanation else RegionMap()
        return self._map

    @property
    def step_seconds(self) -> float:
        """Duration of a compiled step; in a run, the median of recent steps."""
        if self.is_live and len(self._seconds) >= _SAMPLES // 3:
            return median(self._seconds)
        return self.explanation.compiled_seconds if self.explanation else 0.0

    # -- changing

    def explain(self) -> None:
        """Explain the current graph by running a few steps on a copy of its model."""
        errors = self._store.check_report.errors
        if errors:
            count = len(errors)
            self._fail(
                errors[0].message
                if count == 1
                else (f"The graph has {count} errors. Fix them before explaining the step.")
            )
            return
        store = self._store
        self._asked = store.document
        self.stage = Stage("preparing")
        self._enter("working")
        self._begin(explaining(store.request_report(), name=store.name))

    def cancel(self) -> None:
        """Cancel the current request; the previous explanation is kept."""
        if self.state == "working":
            self._wanted = 0
            self._enter("ready" if self.explanation else "empty")

    def watch(self, who: str, watching: bool) -> None:
        """Register or remove a viewer. Without viewers, changes during a run are not explained."""
        (self._watchers.add if watching else self._watchers.discard)(who)
        if watching and self._missed_news:
            self._read_run()

    def close(self) -> None:
        """Stop the thread. The explainer must not be used afterwards."""
        self._wanted = 0
        if self._thread is not None:
            self._thread.join(_JOIN_TIMEOUT)

    # -- live run

    def _follow(self, events: list[object]) -> None:
        kinds = set(map(type, events))
        if fit.Started in kinds:
            self._seconds.clear()
        if self._watchers and (seconds := self._runner.step_seconds()):
            self._seconds.append(seconds)
        if fit.CompileState in kinds:
            if self._watchers:
                self._read_run()
            else:
                self._missed_news = True

    def _read_run(self) -> None:
        self._missed_news = False
        run = self._runner.run
        if run is None:
            return
        if self.state == "working":
            self._missed_news = True  # until that is done
            return
        self._asked = run.document
        self._begin(_read(self._runner.explanation))

    # -- background thread

    def _begin(self, items: Iterator[Found]) -> None:
        number = self._wanted = next(self._numbers)
        self._thread = threading.Thread(target=self._work, args=(number, items), name="gradwire-explain", daemon=True)
        self._thread.start()

    def _work(self, number: int, items: Iterator[Found]) -> None:
        try:
            for item in items:
                if number != self._wanted:
                    break
                self._report(number, item)
            else:
                self._report(number, None)
        except Exception as error:  # noqa: BLE001 - shown in the panel; the editor goes on
            self._report(number, error)
        finally:
            if isinstance(items, Generator):
                items.close()

    def _report(self, number: int, item: object) -> None:
        try:
            self._found.emit(number, item)
        except RuntimeError:  # the project was closed in the meantime
            self._wanted = 0

    def _take(self, number: int, item: object) -> None:
        if number != self._wanted:
            return
        match item:
            case Stage():
                if item != self.stage:
                    self.stage = item
                    self.changed.emit()
            case Explanation():
                self._show(item)
            case Exception():
                self._fail(_error_text(item))
            case _:
                self._enter("ready" if self.explanation else "empty")
                if self._watchers and self._missed_news and self._runner.is_active:
                    self._read_run()

    def _show(self, found: Explanation) -> None:
        live = self.state != "working"
        known, before, now = self.explanation, self.document, self._asked
        if known and before and now and is_same_step(before, now):
            if live and _is_less_informative(found, known):
                self.is_live = True
                self.changed.emit()
                return
            if not found.eager_seconds:
                found = replace(found, eager_seconds=known.eager_seconds)
        self.explanation, self.document, self._map = found, self._asked, None
        self.is_live = live
        self.problem = ""
        self._stale = self._is_outdated()
        if live:
            self._enter("ready")
        else:
            self.changed.emit()

    def _fail(self, problem: str) -> None:
        self.problem = problem
        self._enter("failed")

    def _enter(self, state: State) -> None:
        self.state = state
        if state != "working":
            self.stage = None
        self.changed.emit()

    def _check_stale(self, *_: object) -> None:
        if self.explanation is None:
            return
        self._map = None
        before, self._stale = self._stale, self._is_outdated()
        if before != self._stale:
            self.changed.emit()

    def _is_outdated(self) -> bool:
        return self.document is not None and not is_same_step(self.document, self._store.document)


def _read(explanation: Callable[[], Explanation | None]) -> Iterator[Found]:
    found = explanation()
    if found is not None:
        yield found


def _is_less_informative(found: Explanation, known: Explanation) -> bool:
    """Whether `found` describes a newly recorded step, or a smaller batch such as the last of an epoch."""
    if any(segment.how == "recorded" for segment in found.segments):
        return True
    if [len(one.operations) for one in found.segments] != [len(one.operations) for one in known.segments]:
        return False
    return _uncompiled_kernels(found) >= _uncompiled_kernels(known) and sum(one.held for one in found.segments) < sum(
        one.held for one in known.segments
    )


def _uncompiled_kernels(found: Explanation) -> int:
    """Number of kernels that are not compiled yet."""
    return sum(kernel.kind == "kernel" and bool(kernel.note) for one in found.segments for kernel in one.kernels)


def _error_text(error: Exception) -> str:
    if isinstance(error, LoweringError):
        return str(error)
    text = str(error)
    return text or f"{type(error).__name__} (no message)"


__all__ = ["CompileExplainer"]
