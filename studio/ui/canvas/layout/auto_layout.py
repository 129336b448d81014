"""Automatic layout, computed in a thread, canceled when the graph changes, and animated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Event

from PySide6.QtCore import QObject, Qt, QTimer, QVariantAnimation, Signal

from engine.inspect.layered_layout import CancelledError, Link, Spacing, arrange_in_rows
from engine.inspect.layout_folding import Window
from studio.document.model import Document
from studio.ui.canvas import composite_edits
from studio.ui.canvas.canvas_scene import CanvasScene
from studio.ui.canvas.geometry import GRID, Box, bounds
from studio.ui.canvas.layout.push_nodes import WIRE_LENGTH
from studio.ui.canvas.wires.wire_label import needed_length
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme import motion

Positions = dict[str, tuple[float, float]]

_STAYING = 0.3
"""The part of the nodes that must keep their arrangement for the layout to stay where it is."""
_PROGRESS_MS = 200
_MAX_ANIMATED = 256
"""With more nodes, a frame of the animation would take too long."""

SPACING = Spacing(column=WIRE_LENGTH, row=32, bend=16, grid=GRID, narrow=8.0 * GRID)


class AutoLayout(QObject):
    """Lays out nodes and animates changes of node positions."""

    finished = Signal()
    graph_placed = Signal()
    """A graph without positions was laid out."""
    nodes_placed = Signal(object)
    """The names of other nodes that were laid out."""
    progress = Signal(str)
    """A message while a layout takes long; empty after it."""
    _computed = Signal(object, object)

    def __init__(self, store: ScopeStore, scene: CanvasScene, parent: QObject) -> None:
        super().__init__(parent)
        self._store = store
        self._scene = scene
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="layout")
        self._cancelled = Event()
        self._document: Document | None = None
        self._count = 0
        self._from: Positions = {}
        self._to: Positions = {}
        self._animation = QVariantAnimation(self, startValue=0.0, endValue=1.0)
        self._animation.setEasingCurve(motion.EASING)
        self._animation.valueChanged.connect(self._advance)
        self._animation.finished.connect(self._finish_animation)
        # Queued, because a layout that is done at once would arrive within `lay_out`.
        self._computed.connect(self._on_computed, Qt.ConnectionType.QueuedConnection)
        self._is_first = False
        self._reports_progress = False
        self._progress_timer = QTimer(self)
        self._progress_timer.setSingleShot(True)
        self._progress_timer.setInterval(_PROGRESS_MS)
        self._progress_timer.timeout.connect(self._report_progress)
        store.document_changed.connect(self.cancel)

    @property
    def is_busy(self) -> bool:
        """Whether a layout is being computed or shown."""
        return self._document is not None or self._animation.state() == QVariantAnimation.State.Running

    def lay_out(self, names: Iterable[str], window: Window, *, is_first: bool = False) -> None:
        """Lay out these nodes in a shape that fits a window. Most of them stay where they are, if possible.

        Args:
            is_first: emit `graph_placed` afterwards, because the graph had no positions, instead of `nodes_placed`
        """
        self.cancel()
        boxes = self._scene.boxes(names)
        if not boxes:
            return
        self._document, self._cancelled = self._store.document, Event()
        sizes = {name: (box.width, box.height) for name, box in boxes.items()}
        before = {name: (box.left, box.top) for name, box in boxes.items()}
        self._count, self._is_first = len(sizes), is_first
        self._progress_timer.start()
        grid = self._grid
        spacing = replace(SPACING, grid=grid, row=max(SPACING.row, grid))
        job = self._pool.submit(
            arrange_in_rows, sizes, self._links(boxes), spacing, window, before, self._cancelled.is_set
        )
        job.add_done_callback(partial(self._deliver, self._document, boxes, spacing.snap))

    @property
    def _grid(self) -> int:
        """The user's grid, or the grid of the canvas if nodes do not snap to it."""
        options = self._scene.options
        return options.grid if options.snaps_to_grid else GRID

    def _links(self, boxes: Mapping[str, Box]) -> list[Link[str]]:
        """The wires between these nodes."""
        measure = self._scene.paint_context.style.measure
        return [
            Link(
                wire.source.node,
                wire.target.node,
                item.curve.start.y - boxes[wire.source.node].top,
                item.curve.end.y - boxes[wire.target.node].top,
                min(needed_length(item.label, measure), SPACING.column) if item.label else None,
            )
            for wire, item in self._scene.wires.items()
            if wire.source.node in boxes and wire.target.node in boxes
        ]

    def goals(self, names: Iterable[str]) -> list[Box]:
        """The boxes of nodes at the end of the animation."""
        nodes = self._store.document.nodes
        return [
            box.moved(nodes[name].at[0] - box.left, nodes[name].at[1] - box.top)
            for name, box in self._scene.boxes(names).items()
        ]

    def move_to(self, title: str, positions: Positions) -> None:
        """Move nodes in one edit, with an animation."""
        self._animate(title, positions, partial(composite_edits.move_nodes, positions=positions))

    def _animate(self, title: str, positions: Positions, change: Callable[[Document], Document]) -> None:
        before = {name: self._scene.nodes[name].at for name in positions if name in self._scene.nodes}
        if not self._store.edit(title, change):
            return
        duration = motion.duration(140)
        if duration and before != positions and len(positions) <= _MAX_ANIMATED:
            self._from, self._to = before, positions
            self._scene.preview(before)
            self._animation.setDuration(duration)
            self._animation.start()
        else:
            self.finished.emit()

    def cancel(self) -> None:
        """Cancel the layout being computed and end the animation."""
        self._cancelled.set()
        self._document = None
        self._end_progress()
        if self._animation.state() == QVariantAnimation.State.Running:
            self._animation.stop()
            self._finish_animation()

    def close(self) -> None:
        self.cancel()
        self._pool.shutdown(wait=True)

    def _report_progress(self) -> None:
        if self._document is not None:
            self._reports_progress = True
            self.progress.emit(f"Laying out {self._count:,} nodes. Press Escape to cancel.")

    def _end_progress(self) -> None:
        self._progress_timer.stop()
        if self._reports_progress:
            self._reports_progress = False
            self.progress.emit("")

    def _deliver(
        self, document: Document, boxes: dict[str, Box], snap: Callable[[float], float], job: Future[Positions]
    ) -> None:
        """Runs in the worker thread."""
        if not isinstance(job.exception(), CancelledError):
            self._computed.emit(document, _anchored(job.result(), boxes, snap))

    def _on_computed(self, document: Document, positions: Positions) -> None:
        if document is not self._document:
            return
        self._document = None
        self._end_progress()
        moved = next(iter(positions)) if len(positions) == 1 else f"{len(positions)} nodes"
        boxes = self._scene.boxes(positions)
        self._animate(
            f"Lay out {moved}", positions, lambda document: composite_edits.lay_out(document, positions, boxes)
        )
        if self._is_first:
            self.graph_placed.emit()
        else:
            self.nodes_placed.emit(list(positions))

    def _advance(self, t: float) -> None:
        self._scene.preview(
            {
                name: (
                    self._from[name][0] + (x - self._from[name][0]) * t,
                    self._from[name][1] + (y - self._from[name][1]) * t,
                )
                for name, (x, y) in self._to.items()
                if name in self._from
            }
        )

    def _finish_animation(self) -> None:
        self._scene.end_preview()
        self._from, self._to = {}, {}
        self.finished.emit()


def _anchored(positions: Positions, boxes: dict[str, Box], snap: Callable[[float], float]) -> Positions:
    """The layout moved to where most nodes stay, or else to the previous center of the nodes."""
    offsets = Counter((snap(boxes[name].left - x), snap(boxes[name].top - y)) for name, (x, y) in positions.items())
    (dx, dy), count = offsets.most_common(1)[0]
    if count >= _STAYING * len(positions):
        return {name: (x + dx, y + dy) for name, (x, y) in positions.items()}
    new = bounds(Box(x, y, x + boxes[name].width, y + boxes[name].height) for name, (x, y) in positions.items())
    old = bounds(boxes.values())
    if new is None or old is None:
        return positions
    dx, dy = snap(old.center.x - new.center.x), snap(old.center.y - new.center.y)
    return {name: (x + dx, y + dy) for name, (x, y) in positions.items()}
