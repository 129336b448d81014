"""Opens, reads and describes a project's data in background threads for the Data panel; newest request first."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal

from engine.data.splits import Splits
from studio.document.model import Document
from studio.lowering.analysis.node_graph import NodeGraph
from studio.nodes.catalogue import Catalogue
from studio.training.data.data_chain import ChainOpener, DataProblem, chain_to, data_node_for_selection
from studio.training.data.data_statistics import Progress, compute_statistics
from studio.training.data.sample_preview import Facts, Preview, Sample, SampleSelection
from studio.training.data.statistics_records import Statistics
from studio.ui.project.project_store import ProjectStore

State = Literal["empty", "opening", "ready", "failed"]

SETTLE_MS = 150
"""Debounce interval: typing and clicking come in bursts."""
_JOIN_TIMEOUT = 5.0
_REMEMBERED = 8
"""Number of data sources whose statistics are cached."""


@dataclass(frozen=True, slots=True)
class _OpenResult:
    preview: Preview
    facts: Facts


@dataclass(frozen=True, slots=True)
class SampleBatch:
    """Requested samples."""

    selection: SampleSelection
    first: int
    total: int
    """Number of available samples."""
    samples: tuple[Sample, ...]


class DataPreviewer(QObject):
    """Idle until `watch(True)`."""

    state_changed = Signal()
    """State, facts or problem changed."""
    samples_ready = Signal(object)
    """The SampleBatch for `request_samples`."""
    sample_ready = Signal(object)
    """The SampleBatch for `request_sample`: one sample with all values, or none if it no longer exists."""
    statistics_changed = Signal()
    """Progress, statistics, or the statistics' error changed."""
    _posted = Signal(object)

    def __init__(self, store: ProjectStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._opener = ChainOpener()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="data")
        self._request_numbers = itertools.count(1)
        self._newest_request: dict[str, int] = {}
        self._pending: dict[str, tuple[SampleSelection, int, int]] = {}
        self._preview: Preview | None = None
        self._statistics_by_splits: dict[tuple[Splits, ...], Statistics] = {}
        self._statistics_thread: threading.Thread | None = None
        self._is_visible = False
        self._is_closed = False
        self.state: State = "empty"
        self.facts: Facts | None = None
        self.problem: DataProblem | None = None
        """Why there is no preview."""
        self.progress: Progress | None = None
        """Progress of the current statistics."""
        self.statistics_problem = ""
        self.was_cancelled = False
        """Whether the user cancelled the statistics; they are then not restarted automatically."""
        self._debounce_timer = QTimer(self)
        self._debounce_timer.setSingleShot(True)
        self._debounce_timer.setInterval(SETTLE_MS)
        self._debounce_timer.timeout.connect(self.refresh)
        self._posted.connect(_call)
        for signal in (store.document_changed, store.selection_changed, store.path_changed, store.report_changed):
            signal.connect(self._schedule_refresh)

    # -- reading

    @property
    def statistics(self) -> Statistics | None:
        """Statistics of the current node, if computed."""
        return None if self._preview is None else self._statistics_by_splits.get(self._preview.splits)

    # -- changing

    def watch(self, visible: bool) -> None:
        """Start or stop previewing; the panel is visible or hidden."""
        if visible != self._is_visible:
            self._is_visible = visible
            if visible:
                self.refresh()
            else:
                self._end_statistics()

    def refresh(self) -> None:
        """Open the data that the document describes now. Unchanged data is not read again."""
        if not self._is_visible:
            return
        store = self._store
        work = partial(_open, store.document, store.catalogue, store.base, store.selection, self._opener)
        if self.state in ("empty", "failed"):
            self._set_state("opening")
        self._submit("open", partial(work, self._preview), self._on_opened)

    def request_samples(self, selection: SampleSelection, first: int, count: int) -> None:
        """Request samples. Pending requests for other samples are dropped."""
        self._request("rows", selection, first, count, self.samples_ready.emit, as_thumbnail=True)

    def request_sample(self, selection: SampleSelection, index: int) -> None:
        """Request one sample with all its values."""
        self._request("detail", selection, index, 1, self.sample_ready.emit, as_thumbnail=False)

    def compute_statistics(self) -> None:
        """Compute the statistics of the current node, unless they are cached or being computed."""
        if self._preview is None or self.statistics is not None or self.progress is not None:
            return
        preview = self._preview
        self.statistics_problem, self.was_cancelled = "", False
        self.progress = Progress(0, 0)
        request_number = self._newest_request["describe"] = next(self._request_numbers)
        work = partial(self._compute_statistics, Preview(preview.chain, preview.splits, 0), request_number)
        self._statistics_thread = threading.Thread(target=work, name="gradwire-statistics", daemon=True)
        self._statistics_thread.start()
        self.statistics_changed.emit()

    def cancel(self) -> None:
        """Cancel the current statistics."""
        self.was_cancelled = self.progress is not None
        self._end_statistics()

    def _end_statistics(self) -> None:
        if self.progress is not None:
            self._newest_request["describe"] = 0
            self.progress = None
            self.statistics_changed.emit()

    def close(self) -> None:
        """Stop the threads. The previewer must not be used afterwards."""
        self._debounce_timer.stop()
        self._is_visible = False
        self._is_closed = True
        self._preview = None
        self._newest_request.clear()
        self._pending.clear()
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._statistics_thread is not None:
            self._statistics_thread.join(_JOIN_TIMEOUT)

    # -- background threads

    def _schedule_refresh(self, *_: object) -> None:
        if self._is_visible:
            self._debounce_timer.start()

    def _request(
        self,
        kind: str,
        selection: SampleSelection,
        first: int,
        count: int,
        deliver: Callable[[SampleBatch], object],
        *,
        as_thumbnail: bool,
    ) -> None:
        preview, request = self._preview, (selection, first, count)
        if preview is None or self._pending.get(kind) == request:
            return
        self._pending[kind] = request

        def is_stale() -> bool:
            return self._pending.get(kind) != request

        def read() -> SampleBatch | None:
            if selection.category is not None:
                preview.rows(selection, is_stale)  # the only slow part
                if is_stale():
                    return None
            return SampleBatch(
                selection, first, preview.count(selection), preview.fetch(selection, first, count, small=as_thumbnail)
            )

        def show(answer: SampleBatch | None) -> None:
            if not is_stale():
                del self._pending[kind]
            if self._preview is preview and answer is not None:
                deliver(answer)

        self._submit(kind, read, show, deliver_outdated=True)

    def _submit(
        self, kind: str, work: Callable[[], object], deliver: Callable[..., object], *, deliver_outdated: bool = False
    ) -> None:
        """Run `work` in the thread pool and pass its result to `deliver` in the GUI thread.

        A newer request of the same kind cancels the delivery, unless `deliver_outdated`.
        """
        if self._is_closed:
            return  # a view that is being closed may still request samples
        request_number = self._newest_request[kind] = next(self._request_numbers)
        self._pool.submit(self._work, kind, request_number, work, deliver, deliver_outdated)

    def _work(
        self,
        kind: str,
        request_number: int,
        work: Callable[[], object],
        deliver: Callable[..., object],
        deliver_outdated: bool,
    ) -> None:
        if self._newest_request.get(kind) != request_number:
            return
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - shown in the panel; the editor goes on
            deliver, result = self._fail, error
        self._post(kind, None if deliver_outdated else request_number, partial(deliver, result))

    def _compute_statistics(self, preview: Preview, request_number: int) -> None:
        items = compute_statistics(preview)
        try:
            for item in items:
                if self._newest_request.get("describe") != request_number:
                    return
                self._post("describe", request_number, partial(self._on_statistics, preview.splits, item))
        except Exception as error:  # noqa: BLE001 - shown in the panel; the editor goes on
            self._post("describe", request_number, partial(self._on_statistics, preview.splits, error))
        finally:
            items.close()

    def _post(self, kind: str, request_number: int | None, deliver: Callable[[], object]) -> None:
        def act() -> None:
            if request_number is None or self._newest_request.get(kind) == request_number:
                deliver()

        try:
            self._posted.emit(act)
        except RuntimeError:  # the project was closed in the meantime
            pass

    # -- results, in the GUI thread

    def _on_opened(self, found: _OpenResult | None) -> None:
        if found is None:
            self._preview, self.facts, self.problem = None, None, None
            self._set_state("empty")
            return
        if found.preview is self._preview:
            if self.state != "ready" or found.facts != self.facts:
                self.facts = found.facts
                self._set_state("ready")
            return
        self._end_statistics()
        self._preview, self.facts, self.problem = found.preview, found.facts, None
        self.statistics_problem, self.was_cancelled = "", False
        self._statistics_by_splits = {
            splits: item for splits, item in self._statistics_by_splits.items() if splits[0] is found.preview.splits[0]
        }
        self._pending.clear()
        for kind in ("rows", "detail"):
            self._newest_request.pop(kind, None)
        self._set_state("ready")

    def _fail(self, error: Exception) -> None:
        self._end_statistics()
        self._pending.clear()
        self._preview, self.facts = None, None
        self.problem = error if isinstance(error, DataProblem) else DataProblem("", f"{type(error).__name__}: {error}")
        self._set_state("failed")

    def _on_statistics(self, splits: tuple[Splits, ...], item: object) -> None:
        match item:
            case Progress():
                self.progress = item
            case Statistics():
                self.progress = None
                self._statistics_by_splits[splits] = item
                for old in list(self._statistics_by_splits)[:-_REMEMBERED]:
                    del self._statistics_by_splits[old]
            case _:
                self.progress = None
                self.statistics_problem = str(item)
        self.statistics_changed.emit()

    def _set_state(self, state: State) -> None:
        self.state = state
        self.state_changed.emit()


def _open(
    document: Document,
    catalogue: Catalogue,
    base: Path | None,
    selection: Iterable[str],
    opener: ChainOpener,
    current: Preview | None,
) -> _OpenResult | None:
    """Open the data of the selection; None if the document has no data. Data that is already open is reused."""
    graph = NodeGraph(document, catalogue)
    name = data_node_for_selection(graph, frozenset(selection))
    if name is None:
        return None
    chain = chain_to(name, document, graph, base)
    splits = opener.open(chain)
    seed = document.training.seed
    if current is not None and (current.chain, current.splits, current.seed) == (chain, splits, seed):
        return _OpenResult(current, current.facts)
    preview = Preview(chain, splits, seed)
    return _OpenResult(preview, preview.facts)


def _call(act: Callable[[], object]) -> None:
    act()


__all__ = ["SampleBatch", "DataPreviewer", "State"]
