"""Where the controls are that a step points at. Closed panels are opened."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtWidgets import QDockWidget, QStyle, QTabBar, QWidget

from studio.lessons.lesson import Target
from studio.ui.canvas.camera import Camera
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.geometry import Box, bounds
from studio.ui.canvas.level_of_detail import PORTS_SCALE, READABLE
from studio.ui.palette import PalettePanel
from studio.ui.window.command_window import CommandWindow

_NODE_MARGIN = 6


class Area(NamedTuple):
    """A rectangle in the coordinates of a widget. It can extend beyond the widget."""

    widget: QWidget
    rect: QRect
    margin: int = 0
    """Width around it that the card leaves free, in pixels."""


def prepare(window: CommandWindow, target: Target, nodes: frozenset[str]) -> None:
    """Make a target visible: leave focus mode, open its panel, and bring these nodes into view."""
    window.show_panels()
    window.docks.make_room(window.size())
    if target not in ("canvas", "run button", "figures"):
        focused = window.focusWidget()
        window.docks[target].reveal()
        if focused is not None and not focused.isVisible():  # it is behind the revealed panel
            _focus(window, target)
    if window.canvas is not None and (box := _box_of(window.canvas, nodes)) is not None:
        _reveal(window.canvas.camera, QRectF(box.left, box.top, box.width, box.height))


def _focus(window: CommandWindow, target: Target) -> None:
    """Give the keys to what the step is about."""
    panel = window.docks[target].panel
    if isinstance(panel, PalettePanel):
        panel.focus_search()
    elif window.canvas is not None:
        window.canvas.setFocus()


def find_area(window: CommandWindow, target: Target, nodes: frozenset[str]) -> Area | None:
    """The area of a target, on the canvas that of these nodes. None while it is not visible."""
    match target:
        case "canvas":
            return None if window.canvas is None else _area_on_canvas(window.canvas, nodes)
        case "run button":
            widget = window.topbar.run_button
        case "figures":
            widget = window.topbar.live_values
        case _:
            return _area_of_panel(window.docks[target])
    is_visible = widget.isVisible() and not widget.visibleRegion().isEmpty()
    return Area(widget, widget.rect()) if is_visible else None


def _area_of_panel(dock: QDockWidget) -> Area | None:
    """A panel with its tabs. Beside it are separators, which take clicks from what lies over them."""
    if not dock.isVisible() or dock.visibleRegion().isEmpty():
        return None
    rect = dock.geometry()
    if not dock.isFloating():
        for bar in dock.window().findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            if bar.isVisible() and rect.adjusted(0, -1, 0, 1).intersects(bar.geometry()):
                rect = rect.united(bar.geometry())
    separator = dock.style().pixelMetric(QStyle.PixelMetric.PM_DockWidgetSeparatorExtent, None, dock.window())
    return Area(dock, rect.translated(-dock.pos()), separator)


def _reveal(camera: Camera, rect: QRectF) -> None:
    """Show nodes at a scale at which their names can be read and wires be drawn, if they fit into the view."""
    visible = camera.visible
    if camera.scale >= PORTS_SCALE and rect.width() < visible.width() and rect.height() < visible.height():
        camera.reveal(rect)
    else:
        camera.fit(rect, largest=max(camera.scale, READABLE))


def _area_on_canvas(canvas: CanvasView, nodes: frozenset[str]) -> Area | None:
    viewport = canvas.viewport()
    if not viewport.isVisible():
        return None
    box = _box_of(canvas, nodes)
    if box is not None:
        corners = QRectF(box.left, box.top, box.width, box.height)
        top_left, bottom_right = canvas.camera.to_view(corners.topLeft()), canvas.camera.to_view(corners.bottomRight())
        margin = QPoint(_NODE_MARGIN, _NODE_MARGIN)
        seen = QRect(top_left.toPoint() - margin, bottom_right.toPoint() + margin).intersected(viewport.rect())
        if not seen.isEmpty():
            return Area(viewport, seen)
    return Area(viewport, viewport.rect())


def _box_of(canvas: CanvasView, nodes: frozenset[str]) -> Box | None:
    return bounds(canvas.canvas_scene.boxes(nodes).values())
