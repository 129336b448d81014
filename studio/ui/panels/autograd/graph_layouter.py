"""Groups and layout of autograd graphs in a worker thread. Only the newest request is delivered."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial

from PySide6.QtCore import QObject, Qt, Signal

from studio.training.autograd.autograd_snapshot import AutogradSnapshot
from studio.training.autograd.graph_arrangement import GraphArranger
from studio.training.autograd.graph_drawing import GraphDrawing
from studio.training.autograd.graph_outline import ROOT, GraphOutline, Key

_LARGEST = 8


@dataclass(frozen=True)
class ShownGraph:
    """A graph that is ready to be drawn."""

    snapshot: AutogradSnapshot
    outline: GraphOutline
    expanded: frozenset[str]
    drawing: GraphDrawing
    arranger: GraphArranger
    continues: bool = False
    """Whether it has the nodes and edges of the graph that was shown before."""
    largest: tuple[int, ...] = ()
    """The nodes that save most, the first of them first."""
    changed: int = 0
    """Number of saved tensors that were changed in place."""

    @cached_property
    def cut_nodes(self) -> frozenset[int]:
        """Nodes with an input that has lost its history."""
        return frozenset(cut.node for cut in self.snapshot.graph.cuts if cut.node is not None)

    @property
    def root(self) -> Key:
        """The item that contains the first node of the backward pass."""
        return self.outline.visible(0, self.expanded) if self.snapshot.graph.nodes else ROOT

    def has_structure_of(self, snapshot: AutogradSnapshot) -> bool:
        """Whether another step has the same nodes and edges."""
        mine, other = self.snapshot.graph, snapshot.graph
        return (
            mine.edges == other.edges
            and self.snapshot.nodes == snapshot.nodes
            and [(node.name, node.leaf) for node in mine.nodes] == [(node.name, node.leaf) for node in other.nodes]
        )


class GraphLayouter(QObject):
    arranged = Signal(object)
    """The ShownGraph of the newest request."""
    _finished = Signal(int, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="layout")
        self._numbers = itertools.count(1)
        self._newest = 0
        # Queued, because a layout that is done at once would arrive within `request`.
        self._finished.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    @property
    def is_busy(self) -> bool:
        """Whether a layout has not arrived yet."""
        return bool(self._newest)

    def request(
        self, snapshot: AutogradSnapshot, shown: ShownGraph | None = None, expanded: frozenset[str] | None = None
    ) -> None:
        """Lay out a graph. Cancels earlier requests.

        Args:
            shown: the graph that is shown; its layout is reused if the structure is the same
            expanded: groups to expand; None for those expanded before, or for the initial ones
        """
        self._newest = number = next(self._numbers)
        job = self._pool.submit(_lay_out, snapshot, shown, expanded, lambda: number != self._newest)
        job.add_done_callback(partial(self._finish, number))

    def close(self) -> None:
        """Cancel the current layout and wait for the thread to end."""
        self._newest = 0
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _finish(self, number: int, job: Future[ShownGraph]) -> None:
        if number == self._newest and not job.cancelled() and job.exception() is None:
            self._finished.emit(number, job.result())

    def _deliver(self, number: int, shown: ShownGraph) -> None:
        if number == self._newest:
            self._newest = 0
            self.arranged.emit(shown)


def _lay_out(
    snapshot: AutogradSnapshot, shown: ShownGraph | None, expanded: frozenset[str] | None, cancelled: Callable[[], bool]
) -> ShownGraph:
    if shown is not None and shown.snapshot is snapshot:
        outline, arranger, is_same = shown.outline, shown.arranger, True
        largest, changed = shown.largest, shown.changed
    else:
        largest, changed = _largest(snapshot), len(snapshot.graph.changed)
        outline = GraphOutline(snapshot.graph, snapshot.nodes)
        is_same = shown is not None and shown.has_structure_of(snapshot)
        arranger = shown.arranger if shown is not None and is_same else GraphArranger(outline)
        if shown is not None and expanded is None and is_same:
            expanded = shown.expanded
    if expanded is None:
        expanded = outline.initial()
    expanded = frozenset(path for path in expanded if path in outline.groups)
    drawing = GraphDrawing.of(arranger.arrange(expanded, cancelled))
    return ShownGraph(snapshot, outline, expanded, drawing, arranger, is_same, largest, changed)


def _largest(snapshot: AutogradSnapshot) -> tuple[int, ...]:
    saved = {node.id: node.saved_bytes for node in snapshot.graph.nodes if node.saved}
    return tuple(sorted(saved, key=lambda id: -saved[id])[:_LARGEST])
