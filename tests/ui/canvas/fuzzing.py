"""Random mouse and key events on a canvas, and the laws that hold after each of them."""

from __future__ import annotations

import random
from collections.abc import Callable

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from studio.document.blocks.block_edits import view as block_view
from studio.document.files.project_format import dumps, loads
from studio.document.model import Document
from studio.ui.canvas.canvas_view import CanvasView
from tests.ui.canvas.mouse_and_keyboard import ALT, CTRL, LEFT, MIDDLE, NO_KEY, RIGHT, SHIFT

Key = Qt.Key
_COMMANDS: tuple[tuple[Qt.Key, Qt.KeyboardModifier], ...] = (
    (Key.Key_A, CTRL), (Key.Key_C, CTRL), (Key.Key_X, CTRL), (Key.Key_V, CTRL), (Key.Key_V, CTRL | SHIFT),
    (Key.Key_D, CTRL), (Key.Key_G, CTRL), (Key.Key_G, CTRL | SHIFT), (Key.Key_J, CTRL), (Key.Key_J, CTRL | SHIFT),
    (Key.Key_Down, CTRL), (Key.Key_Up, CTRL), (Key.Key_Delete, NO_KEY), (Key.Key_Delete, CTRL), (Key.Key_M, NO_KEY),
    (Key.Key_M, SHIFT), (Key.Key_F, NO_KEY), (Key.Key_Home, NO_KEY), (Key.Key_L, NO_KEY), (Key.Key_F2, NO_KEY),
    (Key.Key_Tab, NO_KEY), (Key.Key_A, SHIFT), (Key.Key_Space, NO_KEY), (Key.Key_Escape, NO_KEY),
    (Key.Key_Escape, NO_KEY), (Key.Key_Return, NO_KEY), (Key.Key_Left, NO_KEY), (Key.Key_Right, NO_KEY),
    (Key.Key_Up, SHIFT), (Key.Key_Down, SHIFT), (Key.Key_Left, SHIFT), (Key.Key_0, CTRL), (Key.Key_Plus, CTRL),
)  # fmt: skip
_LETTERS = "abcdeflnrsu2 _."
_BUTTONS = (LEFT, LEFT, LEFT, RIGHT, MIDDLE)
_MODIFIERS = (NO_KEY, NO_KEY, NO_KEY, NO_KEY, CTRL, SHIFT, ALT)


class Monkey:
    """Sends random events to a canvas. The same seed sends the same events to the same document."""

    def __init__(self, view: CanvasView, seed: int) -> None:
        self.view = view
        self.store = view.store.project
        self.first = self.store.document
        self._random = random.Random(seed)
        self._pressed: Qt.MouseButton | None = None
        self._last = QPoint(100, 100)
        self.log: list[str] = []
        """What was done, for the report of a failure."""
        self._actions: list[tuple[int, Callable[[], str]]] = [
            (10, self._click),
            (6, self._double_click),
            (10, self._press),
            (16, self._move),
            (12, self._release),
            (16, self._key),
            (5, self._type),
            (3, self._wheel),
            (4, self._undo),
            (3, self._redo),
            (2, self._jump),
            (2, self._wait),
        ]

    def play(self, count: int) -> None:
        """Send `count` events, and check the laws after each; at the end, those of the history."""
        weights = [weight for weight, _ in self._actions]
        for _ in range(count):
            [(_, act)] = self._random.choices(self._actions, weights)
            self.log.append(act())
            del self.log[:-25]
            self._close_popups()
            self.check()
            if len(self.store.document.nodes) > 120:
                self.store.go_to(0)
        if self._pressed is not None:
            self._release()
        self.check_history()

    # -- the laws

    def check(self) -> None:
        """The canvas shows the document, and the selection consists of its nodes."""
        document, scene = self._shown(), self.view.canvas_scene
        done = "\n".join(self.log)
        assert self.view.store.document == document, done
        assert scene.nodes.keys() == document.nodes.keys(), done
        assert scene.wires.keys() == set(document.wires), done
        assert set(scene.frames.boxes()) == document.frames.keys(), done
        assert self.view.store.selection <= document.nodes.keys(), done
        assert scene.frames.selected <= document.frames.keys(), done
        if self.view.gesture is None and not scene.has_preview and not self.view.auto_layout.is_busy:
            assert {name: item.at for name, item in scene.nodes.items()} == {
                name: node.at for name, node in document.nodes.items()
            }, done
            assert {wire.target: item.points for wire, item in scene.wires.items() if item.points} == dict(
                document.routes
            ), done
            assert {item.name: item.frame for item in scene.frames.items} == document.frames, done

    def check_history(self) -> None:
        """Undoing all leads to the first state and redoing all to the last. Every state can be saved."""
        self.view.cancel()
        self.view.auto_layout.cancel()
        store = self.store
        while store.history.can_redo:
            store.redo()
        last, count = store.document, len(store.history)
        while store.history.can_undo:
            store.undo()
            self.check()
        assert store.document == self.first or count >= 1000
        while store.history.can_redo:
            store.redo()
        assert store.document is last
        self.check()
        assert loads(dumps(last)) == last

    def _shown(self) -> Document:
        block = self.view.store.block
        return block_view(self.store.document, block) if block else self.store.document

    # -- events

    def _point(self) -> QPoint:
        """A random point: on a node, port, wire, frame or reroute point, or anywhere."""
        scene, kind = self.view.canvas_scene, self._random.randrange(7)
        document = self.view.store.document
        at: tuple[float, float] | None = None
        if kind == 0 and scene.nodes:
            item = scene.nodes[self._random.choice(sorted(scene.nodes))]
            at = (item.at[0] + 30, item.at[1] + 10)
        elif kind == 1 and scene.nodes:
            item = scene.nodes[self._random.choice(sorted(scene.nodes))]
            places = [(side, port) for side, ports in item.layout.sides for port in ports]
            at = item.port(*self._random.choice(places)) if places else None
        elif kind == 2 and scene.wires:
            at = scene.wires[self._random.choice(sorted(scene.wires))].curve.at(self._random.random())
        elif kind == 3 and document.frames:
            frame = document.frames[self._random.choice(sorted(document.frames))]
            at = (frame.at[0] + self._random.choice([0, 20, frame.size[0]]), frame.at[1] + 14)
        elif kind == 4 and document.routes:
            at = self._random.choice(document.routes[self._random.choice(sorted(document.routes))])
        size = self.view.viewport().size()
        if at is not None:
            point = self.view.camera.to_view(QPointF(*at)).toPoint()
            if self.view.viewport().rect().contains(point):
                return point
        return QPoint(self._random.randrange(size.width()), self._random.randrange(size.height()))

    def _click(self) -> str:
        point, button, keys = self._point(), self._random.choice(_BUTTONS), self._random.choice(_MODIFIERS)
        QTest.mouseClick(self.view.viewport(), button, keys, point)
        self._pressed = None
        return f"click {button.name} {keys} at {point.toTuple()}"

    def _double_click(self) -> str:
        point = self._point()
        QTest.mouseClick(self.view.viewport(), LEFT, NO_KEY, point)
        QTest.mouseDClick(self.view.viewport(), LEFT, NO_KEY, point)
        QTest.mouseRelease(self.view.viewport(), LEFT, NO_KEY, point)
        self._pressed = None
        return f"double-click at {point.toTuple()}"

    def _press(self) -> str:
        if self._pressed is not None:
            return self._move()
        self._pressed, self._last = self._random.choice(_BUTTONS), self._point()
        keys = self._random.choice(_MODIFIERS)
        QTest.mousePress(self.view.viewport(), self._pressed, keys, self._last)
        return f"press {self._pressed.name} {keys} at {self._last.toTuple()}"

    def _move(self) -> str:
        self._last = self._point()
        QTest.mouseMove(self.view.viewport(), self._last)
        return f"move to {self._last.toTuple()}"

    def _release(self) -> str:
        if self._pressed is None:
            return self._move()
        button, self._pressed = self._pressed, None
        QTest.mouseRelease(self.view.viewport(), button, NO_KEY, self._last)
        return f"release {button.name} at {self._last.toTuple()}"

    def _key(self) -> str:
        key, keys = self._random.choice(_COMMANDS)
        QTest.keyClick(self._target(), key, keys)
        return f"key {key.name} {keys}"

    def _type(self) -> str:
        text = "".join(self._random.choice(_LETTERS) for _ in range(self._random.randrange(1, 6)))
        target = self._target()
        if target is not self.view:
            QTest.keyClicks(target, text)
        return f"type {text!r} into {type(target).__name__}"

    def _wheel(self) -> str:
        point, angle = self._point(), self._random.choice([-240, -120, 120, 240])
        event = QWheelEvent(
            QPointF(point),
            QPointF(self.view.viewport().mapToGlobal(point)),
            QPoint(),
            QPoint(0, angle),
            Qt.MouseButton.NoButton,
            NO_KEY,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(self.view.viewport(), event)
        return f"wheel {angle} at {point.toTuple()}"

    def _undo(self) -> str:
        self.store.undo()
        return "undo"

    def _redo(self) -> str:
        self.store.redo()
        return "redo"

    def _jump(self) -> str:
        position = self._random.randrange(len(self.store.history))
        self.store.go_to(position)
        return f"go to state {position}"

    def _wait(self) -> str:
        QTest.qWait(1)
        return "wait"

    def _target(self) -> QWidget:
        """The widget with the focus, if it belongs to the canvas."""
        focused = QApplication.focusWidget()
        return focused if focused is not None and self.view.isAncestorOf(focused) else self.view

    def _close_popups(self) -> None:
        """Choose a random entry of an open menu, or close it."""
        while (popup := QApplication.activePopupWidget()) is not None:
            entries = [action for action in popup.actions() if action.isEnabled() and not action.isSeparator()]
            if entries and self._random.random() < 0.5:
                action = self._random.choice(entries)
                self.log.append(f"menu {action.text()}")
                popup.close()
                action.trigger()
            else:
                popup.close()
        if len(QGuiApplication.clipboard().text()) > 100_000:
            QGuiApplication.clipboard().clear()


__all__ = ["Monkey"]
