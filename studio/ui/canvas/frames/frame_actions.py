"""Actions on frames and comments for commands, menus and gestures. Each change is one edit of the store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from PySide6.QtCore import QPointF, Qt

from studio.document.frames import add_frame, change_frame, free_frame_name
from studio.document.model import Document, Frame, FrameColor
from studio.ui.canvas.canvas_context import CanvasContext, PointerState
from studio.ui.canvas.frames import frame_geometry as geometry
from studio.ui.canvas.geometry import Box, bounds

COLORS: tuple[FrameColor, ...] = get_args(FrameColor)
_COMMENT_SIZE = (240.0, 120.0)
_SHOWN = 24
"""Number of characters of a title that are shown in titles of edits."""


class FrameActions:
    """Actions on the selected frames."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self._store = context.store
        self._scene = context.scene

    def add_around_selection(self, at: QPointF) -> str | None:
        """Add a frame around the selected nodes and frames, or at a position. Returns its name."""
        nodes = self._scene.boxes(self._store.selection)
        inner = [*nodes.values(), *self._scene.frames.boxes(self._scene.frames.selected).values()]
        frame = bounds(inner)
        if frame is None:
            x, y = self._scene.options.snap(at.x()), self._scene.options.snap(at.y())
            box = Box(x, y, x + Frame().size[0], y + Frame().size[1])
            what = ""
        else:
            box = geometry.around(frame)
            what = f" {next(iter(nodes))}" if len(nodes) == 1 else f" {len(nodes)} nodes" if nodes else ""
        color: FrameColor = "blue"
        new = Frame("Frame", "", color, (box.left, box.top), (box.width, box.height))
        return self._added(f"Frame{what}" if what else "Add frame", "frame", new)

    def add_comment(self, at: QPointF) -> str | None:
        """Add a comment with its top left corner at a position. Returns its name."""
        to_grid = self._scene.options.snap
        new = Frame("", "Comment", "amber", (to_grid(at.x()), to_grid(at.y())), _COMMENT_SIZE)
        return self._added("Add comment", "comment", new)

    def set_color(self, color: FrameColor) -> None:
        names = self._scene.frames.selected

        def change(document: Document) -> Document:
            for name in names:
                document = change_frame(document, name, color=color)
            return document

        if names:
            self._store.edit(f"Color {described(self._store.document, names)} {color}", change)

    def _added(self, title: str, base: str, frame: Frame) -> str | None:
        name = free_frame_name(self._store.document, base)
        if not self._store.edit(title, lambda document: add_frame(document, name, frame)):
            return None
        self._store.select(())
        self._scene.selection.select((), frames=[name])
        return name


def described(document: Document, names: Iterable[str]) -> str:
    """The title of a frame, or the number of frames, for the title of an edit."""
    frames = [document.frames[name] for name in names if name in document.frames]
    if len(frames) != 1:
        return f"{len(frames)} frames"
    [frame] = frames
    text = " ".join((frame.title or frame.text).split())
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN].rstrip()}…"
    return f"{'frame' if frame.title else 'comment'} {shown}".rstrip()


def select_clicked(context: CanvasContext, name: str, pointer: PointerState) -> None:
    """Select a frame after a click; with Shift or Ctrl, add or remove it."""
    scene = context.scene
    toggles = pointer.holds(Qt.KeyboardModifier.ShiftModifier) or pointer.holds(Qt.KeyboardModifier.ControlModifier)
    if toggles:
        scene.selection.select(scene.selection.wires, frames=scene.frames.selected ^ {name})
    else:
        context.store.select(())
        scene.selection.select((), frames=[name])
