"""Graph layout in a worker thread. Only the newest request is delivered."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal

from engine.inspect.layered_layout import Layout, Link, Spacing, arrange
from studio.ui.panels.autograd.graph_items import HEIGHT, WIDTH

_SPACING = Spacing(column=32, row=12, bend=20)


class GraphLayouter(QObject):
    arranged = Signal(object)
    """The Layout of the newest request."""
    _finished = Signal(int, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="layout")
        self._numbers = itertools.count(1)
        self._newest = 0
        # Queued, because a layout that is done at once would arrive within `request`.
        self._finished.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def request(self, ids: Iterable[int], edges: Iterable[tuple[int, int]]) -> None:
        """Lay out a graph whose edges point away from the loss. Cancels earlier requests."""
        self._newest = next(self._numbers)
        number = self._newest
        sizes = dict.fromkeys(ids, (WIDTH, HEIGHT))
        links = [Link(behind, before) for before, behind in edges]
        job = self._pool.submit(arrange, sizes, links, _SPACING, lambda: number != self._newest)
        job.add_done_callback(partial(self._finish, number))

    def close(self) -> None:
        """Cancel the current layout and wait for the thread to end."""
        self._newest = 0
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _finish(self, number: int, job: Future[Layout[int]]) -> None:
        if number == self._newest and not job.cancelled() and job.exception() is None:
            self._finished.emit(number, job.result())

    def _deliver(self, number: int, layout: Layout[int]) -> None:
        if number == self._newest:
            self.arranged.emit(layout)
