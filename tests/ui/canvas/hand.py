"""The mouse and the keyboard of a user, in places of the canvas."""

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


class Hand:
    """Presses, drags and types on one view."""

    def __init__(self, view: CanvasView) -> None:
        self.view = view
        self.target = view.viewport()

    # -- where

    def at(self, x: float, y: float) -> QPoint:
        """The point of the viewport over a place on the canvas."""
        return self.view.camera.to_view(QPointF(x, y)).toPoint()

    def node(self, name: str) -> QPoint:
        """On the header of a node."""
        x, y = self.view.canvas_scene.nodes[name].at
        return self.at(x + 40, y + 12)

    def port(self, name: str, side: Side, port: str) -> QPoint:
        return self.at(*self.view.canvas_scene.nodes[name].port(side, port))

    def wire(self, text: str, t: float = 0.5) -> QPoint:
        """On a wire, written as "a.output -> b.input"."""
        item = next(item for wire, item in self.view.canvas_scene.wires.items() if str(wire) == text)
        return self.at(*item.curve.at(t))

    # -- the mouse

    def move(
        self, place: QPoint, *, button: Qt.MouseButton = Qt.MouseButton.NoButton, keys: Qt.KeyboardModifier = NO_KEY
    ) -> None:
        where = QPointF(place)
        event = QMouseEvent(
            QMouseEvent.Type.MouseMove,
            where,
            QPointF(self.target.mapToGlobal(place)),
            Qt.MouseButton.NoButton,
            button,
            keys,
        )
        QApplication.sendEvent(self.target, event)

    def press(self, place: QPoint, button: Qt.MouseButton = LEFT, keys: Qt.KeyboardModifier = NO_KEY) -> None:
        QTest.mousePress(self.target, button, keys, place)

    def release(self, place: QPoint, button: Qt.MouseButton = LEFT, keys: Qt.KeyboardModifier = NO_KEY) -> None:
        QTest.mouseRelease(self.target, button, keys, place)

    def click(self, place: QPoint, button: Qt.MouseButton = LEFT, keys: Qt.KeyboardModifier = NO_KEY) -> None:
        QTest.mouseClick(self.target, button, keys, place)

    def double_click(self, place: QPoint) -> None:
        QTest.mouseClick(self.target, LEFT, NO_KEY, place)
        QTest.mouseDClick(self.target, LEFT, NO_KEY, place)

    def hold(
        self, start: QPoint, *places: QPoint, button: Qt.MouseButton = LEFT, keys: Qt.KeyboardModifier = NO_KEY
    ) -> None:
        """Press and move, without letting go."""
        self.press(start, button, keys)
        self.move(start + QPoint(12, 0), button=button, keys=keys)
        for place in places:
            self.move(place, button=button, keys=keys)

    def drag(
        self, start: QPoint, *places: QPoint, button: Qt.MouseButton = LEFT, keys: Qt.KeyboardModifier = NO_KEY
    ) -> None:
        self.hold(start, *places, button=button, keys=keys)
        self.release(places[-1], button, keys)

    # -- the keyboard

    def key(self, key: Qt.Key, keys: Qt.KeyboardModifier = NO_KEY, target: QWidget | None = None) -> None:
        QTest.keyClick(target or self.view, key, keys)

    def type(self, text: str, target: QWidget) -> None:
        QTest.keyClicks(target, text)
