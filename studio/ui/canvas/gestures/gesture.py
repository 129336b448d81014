"""Base class of gestures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from studio.ui.canvas.canvas_context import CanvasContext, PointerState


class Gesture(ABC):
    """Starts with a press, previews its effect, and edits the document on release."""

    cursor: ClassVar[Qt.CursorShape | None] = None
    pans_at_edges: ClassVar[bool] = False
    """Whether the canvas pans while the pointer is at the edge of the view."""

    def __init__(self, context: CanvasContext, start: PointerState) -> None:
        self.context = context
        self.start = start

    @abstractmethod
    def move(self, pointer: PointerState) -> None: ...

    @abstractmethod
    def release(self, pointer: PointerState) -> None: ...

    @abstractmethod
    def cancel(self) -> None:
        """Restore the state from before the press."""

    def is_drag(self, pointer: PointerState) -> bool:
        """Whether the pointer has moved too far for a click."""
        delta = pointer.view - self.start.view
        return delta.manhattanLength() >= QApplication.startDragDistance()
