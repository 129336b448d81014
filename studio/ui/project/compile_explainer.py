"""The explanation of the compiled training step, from a few steps on a copy of the model or from a live run."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from statistics import median
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal

from engine import fit
from engine.compiler import Explanation
from studio.document.blocks.block_locations import first_prefix, shared_prefixes
from studio.document.model import Document
from studio.lowering.program import LoweringError
from studio.training.regions import RegionMap, map_to_canvas
from studio.training.staged_explanation import ExplanationUpdate, Stage, explain_in_stages, is_same_step
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.scope_store import ScopeStore
from studio.ui.project.training_runner import TrainingRunner

State = Literal["empty", "working", "ready", "failed"]

_SAMPLES = 15
"""Number of recent step times; their median is shown, because single steps are disturbed by other load."""
_EARLIER = 4
"""Explanations of earlier versions that are kept, for undo and redo."""
_KERNELS_MS = 700
"""Interval to look for kernels that became ready without a step, because the run is paused or over."""
_JOIN_TIMEOUT = 5.0
"""Seconds to wait for the thread when the project is closed."""


class CompileExplainer(QObject):
    """Explains in a background thread. If several requests overlap, only the newest result is kept."""

    changed = Signal()
    """State, stage, explanation, or `is_stale` changed."""
    _item_ready = Signal(int, object)

    def __init__(self, store: ProjectStore, runner: TrainingRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._runner = store, runner
        self._request_numbers = itertools.count(1)
        self._current_request = 0
        self._thread: threading.Thread | None = None
        self._watchers: set[str] = set()
        self._has_unread_state = False
        self._stale = False
        self._seconds: deque[float] = deque(maxlen=_SAMPLES)
        self._map: RegionMap | None = None
        self._requested_document: Document | None = None
        self.state: State = "empty"
        self.stage: Stage | None = None
        self.explanation: Explanation | None = None
        self.document: Document | None = None
        """The document that was explained."""
        self._inner_map: tuple[tuple[Document, Explanation], RegionMap] | None = None
        self.problem = ""
        """Why there is no explanation."""
        self._earlier: deque[tuple[Document, Explanation]] = deque(maxlen=_EARLIER)
        self.is_live = False
        """Whether the explanation comes from the steps of a run."""
        self._item_ready.connect(self._on_item)
        self._kernel_timer = QTimer(self)
        self._kernel_timer.setSingleShot(True)
        self._kernel_timer.setInterval(_KERNELS_MS)
        self._kernel_timer.timeout.connect(self._read_kernels)
        store.document_changed.connect(self._update_stale)
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
            self._map = RegionMap()
            if self.explanation:
                shared = shared_prefixes(document, document)
                self._map = map_to_canvas(self.explanation, document.nodes, document.wires, shared=shared)
        return self._map

    def map_of(self, scope: ScopeStore) -> RegionMap:
        """Compiled regions mapped to the nodes that the canvas shows. In a block, lines are those of all instances."""
        if not scope.location or self.explanation is None:
            return self.map
        graph, key = scope.document, (scope.document, self.explanation)
        if self._inner_map is None or any(old is not new for old, new in zip(self._inner_map[0], key, strict=True)):
            inside = first_prefix(self._store.document, scope.location)
            shared = shared_prefixes(self._store.document, graph)
            self._inner_map = key, map_to_canvas(self.explanation, graph.nodes, graph.wires, inside, shared)
        return self._inner_map[1]

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
            several = f"The graph has {count} errors. Fix them before explaining the step."
            self._fail(errors[0].message if count == 1 else several)
            return
        store = self._store
        self._requested_document = store.document
        self.stage = Stage("preparing")
        self._set_state("working")
        self._begin(explain_in_stages(store.request_report(), name=store.name))

    def cancel(self) -> None:
        """Cancel the current request; the previous explanation is kept."""
        if self.state == "working":
            self._current_request = 0
            self._set_state("ready" if self.explanation else "empty")

    def watch(self, viewer: str, watching: bool) -> None:
        """Add or remove a viewer by name. Without viewers, changes during a run are not explained."""
        (self._watchers.add if watching else self._watchers.discard)(viewer)
        if watching and self._has_unread_state:
            self._read_run()
        elif watching:
            self._follow_kernels()

    def close(self) -> None:
        """Stop the thread. The explainer must not be used afterwards."""
        self._current_request = 0
        self._kernel_timer.stop()
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
                self._has_unread_state = True

    def _read_run(self) -> None:
        self._has_unread_state = False
        run = self._runner.run
        if run is None:
            return
        if self.state == "working":
            self._has_unread_state = True  # until that is done
            return
        self._requested_document = run.document
        self._begin(_read(self._runner.explanation))

    def _follow_kernels(self) -> None:
        """Read the run again while kernels compile. Without steps, no event says that they are ready."""
        if self._watchers and self.is_live and self.explanation and _is_compiling(self.explanation):
            self._kernel_timer.start()

    def _read_kernels(self) -> None:
        if not self.is_live or not self._watchers or self.state == "working":
            return
        if self._runner.state == "running":
            self._kernel_timer.start()  # its events are followed
        else:
            self._read_run()

    # -- background thread

    def _begin(self, items: Iterator[ExplanationUpdate]) -> None:
        number = self._current_request = next(self._request_numbers)
        self._thread = threading.Thread(target=self._work, args=(number, items), name="gradwire-explain", daemon=True)
        self._thread.start()

    def _work(self, number: int, items: Iterator[ExplanationUpdate]) -> None:
        try:
            for item in items:
                if number != self._current_request:
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
            self._item_ready.emit(number, item)
        except RuntimeError:  # the project was closed in the meantime
            self._current_request = 0

    def _on_item(self, number: int, item: object) -> None:
        if number != self._current_request:
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
                self._set_state("ready" if self.explanation else "empty")
                if self._watchers and self._has_unread_state and self._runner.is_active:
                    self._read_run()

    def _show(self, found: Explanation) -> None:
        live = self.state != "working"
        previous, before, now = self.explanation, self.document, self._requested_document
        if previous and before and now and is_same_step(before, now):
            if live and _is_less_informative(found, previous):
                self.is_live = True
                self.changed.emit()
                return
            if not found.eager_seconds:
                found = replace(found, eager_seconds=previous.eager_seconds)
        if previous and before and now and not is_same_step(before, now):
            self._earlier.append((before, previous))
        if live and self.is_live and self.state == "ready" and found == previous:
            self._follow_kernels()
            return
        self.explanation, self.document, self._map = found, self._requested_document, None
        self.is_live = live
        self.problem = ""
        self._stale = self._is_outdated()
        if live:
            self._set_state("ready")
            self._follow_kernels()
        else:
            self.changed.emit()

    def _fail(self, problem: str) -> None:
        self.problem = problem
        self._set_state("failed")

    def _set_state(self, state: State) -> None:
        self.state = state
        if state != "working":
            self.stage = None
        self.changed.emit()

    def _update_stale(self, *_: object) -> None:
        if self.explanation is None:
            return
        self._map = None
        before, self._stale = self._stale, self._is_outdated()
        if self._stale and self.state != "working" and self._recall():
            before, self._stale = True, False
        if before != self._stale:
            self.changed.emit()

    def _recall(self) -> bool:
        """Show the explanation of an earlier version with the current step, as after undo. False if there is none."""
        document = self._store.document
        found = next((each for each in self._earlier if is_same_step(each[0], document)), None)
        if found is None or self.explanation is None or self.document is None:
            return False
        self._earlier.remove(found)
        self._earlier.append((self.document, self.explanation))
        self.document, self.explanation = found
        self._map, self.is_live = None, False
        return True

    def _is_outdated(self) -> bool:
        return self.document is not None and not is_same_step(self.document, self._store.document)


def _read(explanation: Callable[[], Explanation | None]) -> Iterator[ExplanationUpdate]:
    found = explanation()
    if found is not None:
        yield found


def _is_less_informative(found: Explanation, previous: Explanation) -> bool:
    """Whether `found` describes a newly recorded step, or a smaller batch such as the last of an epoch."""
    if any(segment.how == "recorded" for segment in found.segments):
        return True
    if _op_counts(found) != _op_counts(previous) or _uncompiled_kernels(found) < _uncompiled_kernels(previous):
        return False
    return _eager_bytes(found) < _eager_bytes(previous)


def _op_counts(found: Explanation) -> list[int]:
    """Number of ops by segment."""
    return [len(segment.operations) for segment in found.segments]


def _eager_bytes(found: Explanation) -> int:
    """Sum of the peak bytes of the segments if ops ran one by one: a measure of the batch size."""
    return sum(segment.held for segment in found.segments)


def _is_compiling(found: Explanation) -> bool:
    """Whether kernels of the step are still compiling."""
    return any(kernel.is_compiling for segment in found.segments for kernel in segment.kernels)


def _uncompiled_kernels(found: Explanation) -> int:
    """Number of kernels that are not compiled yet."""
    kernels = (kernel for segment in found.segments for kernel in segment.kernels)
    return sum(kernel.kind == "kernel" and bool(kernel.note) for kernel in kernels)


def _error_text(error: Exception) -> str:
    if isinstance(error, LoweringError):
        return str(error)
    text = str(error)
    return text or f"{type(error).__name__} (no message)"


__all__ = ["CompileExplainer"]
