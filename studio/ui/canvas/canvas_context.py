"""The objects that gestures and actions share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtWidgets import QGraphicsView

from studio.ui.canvas.camera import Camera
from studio.ui.canvas.canvas_scene import CanvasScene
from studio.ui.canvas.hit_testing import Hit
from studio.ui.canvas.wires.pending_wire import PendingWire
from studio.ui.project.scope_store import ScopeStore


@dataclass(frozen=True, slots=True)
class PointerState:
    """Position and keyboard modifiers of the pointer."""

    view: QPointF
    """Position in viewport pixels."""
    scene: QPointF
    """Position in the scene."""
    modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier

    def holds(self, modifier: Qt.KeyboardModifier) -> bool:
        return bool(self.modifiers & modifier)


@dataclass(frozen=True, slots=True)
class CanvasContext:
    """Store, scene, camera and view of one canvas, and callbacks to its overlays."""

    store: ScopeStore
    scene: CanvasScene
    camera: Camera
    view: QGraphicsView
    show_message: Callable[[str], None]
    """Show a short text at the pointer; an empty text hides it."""
    open_search: Callable[[QPointF, PendingWire | None], None]
    """Open the search palette for a scene position."""
    open_menu: Callable[[Hit, QPoint], None]
    """Open the context menu for a hit at a screen position."""

    @property
    def pixel_size(self) -> float:
        """Size of one screen pixel in scene units."""
        return 1 / self.camera.scale
