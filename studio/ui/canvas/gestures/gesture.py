"""The interface of gestures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from studio.ui.canvas.canvas_context import CanvasContext, PointerState


class Gesture(ABC):
    """Begins with a press. Shows on the canvas what a release would do, and changes the document only then."""

    cursor: ClassVar[Qt.CursorShape | None] = None
    pans_at_edges: ClassVar[bool] = False
    """Whether the canvas moves along when the pointer is held at the edge of the view."""

    def __init__(self, context: CanvasContext, start: PointerState) -> None:
        self.context = context
        self.start = start

    @abstractmethod
    def move(self, pointer: PointerState) -> None: ...

    @abstractmethod
    def release(self, pointer: PointerState) -> None: ...

    @abstractmethod
    def cancel(self) -> None:
        """Leave everything as it was at the press."""

    def is_drag(self, pointer: PointerState) -> bool:
        """Whether the pointer has moved too far for a click."""
        way = pointer.view - self.start.view
        return way.manhattanLength() >= QApplication.startDragDistance()
