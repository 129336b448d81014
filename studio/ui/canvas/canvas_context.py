"""What gestures and actions work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtWidgets import QGraphicsView

from studio.ui.canvas.camera import Camera
from studio.ui.canvas.canvas_scene import CanvasScene
from studio.ui.canvas.hit_testing import Hit
from studio.ui.canvas.wires.pending_wire import PendingWire
from studio.ui.project.project_store import ProjectStore


@dataclass(frozen=True, slots=True)
class PointerState:
    """Where the pointer is, and which keys are held."""

    view: QPointF
    """In pixels of the viewport."""
    scene: QPointF
    """On the canvas."""
    modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier

    def holds(self, modifier: Qt.KeyboardModifier) -> bool:
        return bool(self.modifiers & modifier)


@dataclass(frozen=True, slots=True)
class CanvasContext:
    store: ProjectStore
    scene: CanvasScene
    camera: Camera
    view: QGraphicsView
    show_message: Callable[[str], None]
    """Show a short text at the pointer; an empty one takes it away."""
    open_search: Callable[[QPointF, PendingWire | None], None]
    """Open the search palette for a place on the canvas."""
    open_menu: Callable[[Hit, QPoint], None]
    """Open the menu of what was hit at a place of the screen."""

    @property
    def hair(self) -> float:
        """One pixel of the screen, on the canvas."""
        return 1 / self.camera.scale
