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
from studio.training.data.sample_preview import Facts, Look, Preview, Sample
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

    look: Look
    first: int
    total: int
    """Number of available samples."""
    samples: tuple[Sample, ...]


class DataPreviewer(QObject):
    """Idle until `watch(True)`."""

    state_changed = Signal()
    """State, facts or problem changed."""
    samples_ready = Signal(object)
    """An Answer to `request_samples`."""
    sample_ready = Signal(object)
    """An Answer to `request_sample`: one sample with all values, or none if it no longer exists."""
    statistics_changed = Signal()
    """Progress, statistics, or the statistics' error changed."""
    _posted = Signal(object)

    def __init__(self, store: ProjectStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._opener = ChainOpener()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="data")
        self._numbers = itertools.count(1)
        self._newest: dict[str, int] = {}
        self._asked: dict[str, tuple[Look, int, int]] = {}
        self._preview: Preview | None = None
        self._known: dict[tuple[Splits, ...], Statistics] = {}
        self._describer: threading.Thread | None = None
        self._in_sight = False
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
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MS)
        self._settle.timeout.connect(self.refresh)
        self._posted.connect(_call)
        for signal in (store.document_changed, store.selection_changed, store.path_changed, store.report_changed):
            signal.connect(self._plan)

    # -- reading

    @property
    def statistics(self) -> Statistics | None:
        """Statistics of the current node, if computed."""
        return None if self._preview is None else self._known.get(self._preview.splits)

    # -- changing

    def watch(self, in_sight: bool) -> None:
        """Start or stop previewing; the panel is visible or hidden."""
        if in_sight != self._in_sight:
            self._in_sight = in_sight
            if in_sight:
                self.refresh()
            else:
                self._end_statistics()

    def refresh(self) -> None:
        """Open the data that the document describes now. Unchanged data is not read again."""
        if not self._in_sight:
            return
        store = self._store
        work = partial(_open, store.document, store.catalogue, store.base, store.selection, self._opener)
        if self.state in ("empty", "failed"):
            self._enter("opening")
        self._submit("open", partial(work, self._preview), self._take_opened)

    def request_samples(self, look: Look, first: int, number: int) -> None:
        """Request samples. Pending requests for other samples are dropped."""
        self._ask("rows", look, first, number, self.samples_ready.emit, small=True)

    def request_sample(self, look: Look, index: int) -> None:
        """Request one sample with all its values."""
        self._ask("detail", look, index, 1, self.sample_ready.emit, small=False)

    def compute_statistics(self) -> None:
        """Compute the statistics of the current node, unless they are cached or being computed."""
        if self._preview is None or self.statistics is not None or self.progress is not None:
            return
        preview = self._preview
        self.statistics_problem, self.was_cancelled = "", False
        self.progress = Progress(0, 0)
        number = self._newest["describe"] = next(self._numbers)
        work = partial(self._describe, Preview(preview.chain, preview.splits, 0), number)
        self._describer = threading.Thread(target=work, name="gradwire-statistics", daemon=True)
        self._describer.start()
        self.statistics_changed.emit()

    def cancel(self) -> None:
        """Cancel the current statistics."""
        self.was_cancelled = self.progress is not None
        self._end_statistics()

    def _end_statistics(self) -> None:
        if self.progress is not None:
            self._newest["describe"] = 0
            self.progress = None
            self.statistics_changed.emit()

    def close(self) -> None:
        """Stop the threads. The previewer must not be used afterwards."""
        self._settle.stop()
        self._in_sight = False
        self._is_closed = True
        self._preview = None
        self._newest.clear()
        self._asked.clear()
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._describer is not None:
            self._describer.join(_JOIN_TIMEOUT)

    # -- background threads

    def _plan(self, *_: object) -> None:
        if self._in_sight:
            self._settle.start()

    def _ask(
        self, slot: str, look: Look, first: int, number: int, take: Callable[[SampleBatch], object], *, small: bool
    ) -> None:
        preview, wish = self._preview, (look, first, number)
        if preview is None or self._asked.get(slot) == wish:
            return
        self._asked[slot] = wish

        def is_stale() -> bool:
            return self._asked.get(slot) != wish

        def read() -> SampleBatch | None:
            if look.category is not None:
                preview.rows(look, is_stale)  # the only slow part
                if is_stale():
                    return None
            return SampleBatch(look, first, preview.count(look), preview.fetch(look, first, number, small=small))

        def show(answer: SampleBatch | None) -> None:
            if not is_stale():
                del self._asked[slot]
            if self._preview is preview and answer is not None:
                take(answer)

        self._submit(slot, read, show, keep=True)

    def _submit(
        self, slot: str, work: Callable[[], object], take: Callable[..., object], *, keep: bool = False
    ) -> None:
        """Run `work` in the thread pool and pass its result to `take` in the GUI thread, unless a newer request came.

        Args:
            keep: pass the result even if a newer request came
        """
        if self._is_closed:
            return  # a view that is being closed may still ask
        number = self._newest[slot] = next(self._numbers)
        self._pool.submit(self._work, slot, number, work, take, keep)

    def _work(
        self, slot: str, number: int, work: Callable[[], object], take: Callable[..., object], keep: bool
    ) -> None:
        if self._newest.get(slot) != number:
            return
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - shown in the panel; the editor goes on
            take, result = self._fail, error
        self._post(slot, None if keep else number, partial(take, result))

    def _describe(self, preview: Preview, number: int) -> None:
        items = compute_statistics(preview)
        try:
            for item in items:
                if self._newest.get("describe") != number:
                    return
                self._post("describe", number, partial(self._take_described, preview.splits, item))
        except Exception as error:  # noqa: BLE001 - shown in the panel; the editor goes on
            self._post("describe", number, partial(self._take_described, preview.splits, error))
        finally:
            items.close()

    def _post(self, slot: str, number: int | None, take: Callable[[], object]) -> None:
        def act() -> None:
            if number is None or self._newest.get(slot) == number:
                take()

        try:
            self._posted.emit(act)
        except RuntimeError:  # the project was closed in the meantime
            pass

    # -- results, in the GUI thread

    def _take_opened(self, found: _OpenResult | None) -> None:
        if found is None:
            self._preview, self.facts, self.problem = None, None, None
            self._enter("empty")
            return
        if found.preview is self._preview:
            if self.state != "ready" or found.facts != self.facts:
                self.facts = found.facts
                self._enter("ready")
            return
        self._end_statistics()
        self._preview, self.facts, self.problem = found.preview, found.facts, None
        self.statistics_problem, self.was_cancelled = "", False
        self._known = {known: item for known, item in self._known.items() if known[0] is found.preview.splits[0]}
        self._asked.clear()
        for slot in ("rows", "detail"):
            self._newest.pop(slot, None)
        self._enter("ready")

    def _fail(self, error: Exception) -> None:
        self._end_statistics()
        self._asked.clear()
        self._preview, self.facts = None, None
        self.problem = error if isinstance(error, DataProblem) else DataProblem("", f"{type(error).__name__}: {error}")
        self._enter("failed")

    def _take_described(self, splits: tuple[Splits, ...], item: object) -> None:
        match item:
            case Progress():
                self.progress = item
            case Statistics():
                self.progress = None
                self._known[splits] = item
                for old in list(self._known)[:-_REMEMBERED]:
                    del self._known[old]
            case _:
                self.progress = None
                self.statistics_problem = str(item)
        self.statistics_changed.emit()

    def _enter(self, state: State) -> None:
        self.state = state
        self.state_changed.emit()


def _open(
    document: Document,
    catalogue: Catalogue,
    base: Path | None,
    selection: Iterable[str],
    opener: ChainOpener,
    present: Preview | None,
) -> _OpenResult | None:
    """Open the data of the selection; None if the document has no data. Data that is already open is reused."""
    graph = NodeGraph(document, catalogue)
    name = data_node_for_selection(graph, frozenset(selection))
    if name is None:
        return None
    chain = chain_to(name, document, graph, base)
    splits = opener.open(chain)
    seed = document.training.seed
    if present is not None and (present.chain, present.splits, present.seed) == (chain, splits, seed):
        return _OpenResult(present, present.facts)
    preview = Preview(chain, splits, seed)
    return _OpenResult(preview, preview.facts)


def _call(act: Callable[[], object]) -> None:
    act()


__all__ = ["SampleBatch", "DataPreviewer", "State"]
