"""Simulated mouse and keyboard input on the canvas, addressed by nodes, ports and wires."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.geometry import Side

LEFT, RIGHT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton, Qt.MouseButton.MiddleButton
NO_KEY = Qt.KeyboardModifier.NoModifier
CTRL, SHIFT, ALT = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.AltModifier,
)


class MouseAndKeyboard:
    """Presses, drags and types on one view."""

    def __init__(self, view: CanvasView) -> None:
        self.view = view
        self.target = view.viewport()

    # -- viewport points

    def at(self, x: float, y: float) -> QPoint:
        """The viewport point of a scene position."""
        return self.view.camera.to_view(QPointF(x, y)).toPoint()

    def node(self, name: str) -> QPoint:
        """A point on the header of a node."""
        x, y = self.view.canvas_scene.nodes[name].at
        return self.at(x + 40, y + 12)

    def port(self, name: str, side: Side, port: str) -> QPoint:
        return self.at(*self.view.canvas_scene.nodes[name].port(side, port))

    def wire(self, text: str, t: float = 0.5) -> QPoint:
        """The point at parameter `t` of a wire, written as "a.output -> b.input"."""
        item = next(item for wire, item in self.view.canvas_scene.wires.items() if str(wire) == text)
        return self.at(*item.curve.at(t))

    # -- the mouse

    def move(
        self, position: QPoint, *, button: Qt.MouseButton = Qt.MouseButton.NoButton, keys: Qt.KeyboardModifier = NO_KEY
    ) -> None:
        where = QPointF(position)
        event = QMouseEvent(
            QMouseEvent.Type.MouseMove,
            where,
            QPointF(self.target.mapToGlobal(position)),
            Qt.MouseButton.NoButton,
            button,
            keys,
        )
        QApplication.sendEvent(self.target, event)

    def press(self, position: QPoint, button: Qt.MouseButton = LEFT, keys: Qt.KeyboardModifier = NO_KEY) -> None:
        QTest.mousePress(self.target, button, keys, position)

    def release(self, position: QPoint, button: Qt.MouseButton = LEFT, keys: Qt.KeyboardModifier = NO_KEY) -> None:
        QTest.mouseRelease(self.target, button, keys, position)

    def click(self, position: QPoint, button: Qt.MouseButton = LEFT, keys: Qt.KeyboardModifier = NO_KEY) -> None:
        QTest.mouseClick(self.target, button, keys, position)

    def double_click(self, position: QPoint) -> None:
        QTest.mouseClick(self.target, LEFT, NO_KEY, position)
        QTest.mouseDClick(self.target, LEFT, NO_KEY, position)

    def hold(
        self, start: QPoint, *positions: QPoint, button: Qt.MouseButton = LEFT, keys: Qt.KeyboardModifier = NO_KEY
    ) -> None:
        """Press at `start` and move through `positions`, without a release."""
        self.press(start, button, keys)
        self.move(start + QPoint(12, 0), button=button, keys=keys)
        for position in positions:
            self.move(position, button=button, keys=keys)

    def drag(
        self, start: QPoint, *positions: QPoint, button: Qt.MouseButton = LEFT, keys: Qt.KeyboardModifier = NO_KEY
    ) -> None:
        self.hold(start, *positions, button=button, keys=keys)
        self.release(positions[-1], button, keys)

    # -- the keyboard

    def key(self, key: Qt.Key, keys: Qt.KeyboardModifier = NO_KEY, target: QWidget | None = None) -> None:
        QTest.keyClick(target or self.view, key, keys)

    def type(self, text: str, target: QWidget) -> None:
        QTest.keyClicks(target, text)
