"""Drag and drop onto the canvas: node types from the palette, and data files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QPointF
from PySide6.QtGui import QDropEvent

from studio.document.files.project_format import SUFFIX
from studio.nodes.types import NodeType
from studio.ui.canvas.canvas_actions import CanvasActions
from studio.ui.canvas.canvas_context import CanvasContext
from studio.ui.canvas.hit_testing import NO_HIT, Hit
from studio.ui.palette.node_type_tree import MIME


class DropHandler:
    """Adds nodes for dropped types, also into a matching wire, and imports dropped files."""

    def __init__(
        self,
        context: CanvasContext,
        actions: CanvasActions,
        find_type: Callable[[str], NodeType | None],
        import_files: Callable[[list[Path], QPointF], object],
    ) -> None:
        """`find_type` returns a type by its key, `import_files` receives dropped data files and their position."""
        self._find_type = find_type
        self._import_files = import_files
        self._context = context
        self._actions = actions

    def accepts(self, event: QDropEvent) -> bool:
        """Whether the canvas handles the drop. Files that include a project are left to the window."""
        files = dropped_data_files(event)
        return event.mimeData().hasFormat(MIME) or (bool(files) and len(files) == len(event.mimeData().urls()))

    def hover(self, event: QDropEvent) -> None:
        kind = self._kind(event)
        hit = self._context.scene.hit(self._at(event))
        fits = kind is not None and hit.wire is not None and self._actions.fits_into(kind, hit.wire)
        self._context.scene.marks.hover(Hit(wire=hit.wire) if fits else NO_HIT)

    def leave(self) -> None:
        self._context.scene.marks.hover(NO_HIT)

    def drop(self, event: QDropEvent) -> bool:
        """Handle a drop. Returns whether it was accepted."""
        kind, at = self._kind(event), self._at(event)
        self.leave()
        if files := dropped_data_files(event):
            self._import_files(files, at)
            return True
        if kind is None:
            return False
        wire = self._context.scene.hit(at).wire
        if wire is None or self._actions.add_into(kind, wire, at) is None:
            self._actions.add_at(kind, at)
        return True

    def _kind(self, event: QDropEvent) -> NodeType | None:
        key = bytes(event.mimeData().data(MIME).data()).decode(errors="replace")
        return self._find_type(key)

    def _at(self, event: QDropEvent) -> QPointF:
        return self._context.camera.to_scene(event.position())


def dropped_data_files(event: QDropEvent) -> list[Path]:
    """The dragged files and folders except projects, which the window opens."""
    paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
    return [path for path in paths if path.suffix != SUFFIX]
