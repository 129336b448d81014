"""Keys in the widgets on top of the canvas: they are not shortcuts of the canvas."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.model import Block, Document, Node
from tests.ui.canvas.conftest import MakeView, network
from tests.ui.canvas.mouse_and_keyboard import CTRL, MouseAndKeyboard


def press(*keys: Qt.Key) -> None:
    for key in keys:
        widget = QApplication.focusWidget()
        assert isinstance(widget, QWidget)
        QTest.keyClick(widget, key)


def test_arrow_keys_choose_in_the_search_palette(user: MouseAndKeyboard) -> None:
    user.view.store.select(["hidden"])
    press(Qt.Key.Key_Tab)
    search = user.view.overlays.search
    first = search.current
    press(Qt.Key.Key_Down)
    assert search.current not in (None, first) and user.view.store.selection == {"hidden"}
    press(Qt.Key.Key_Up)
    assert search.current is first
    press(Qt.Key.Key_Tab)
    assert not search.isVisible() and user.view.hasFocus()


def test_arrow_keys_and_tab_in_the_find_bar(user: MouseAndKeyboard) -> None:
    bar = user.view.overlays.find_bar
    bar.open()
    QTest.keyClicks(bar.field, "e")
    bar.go(1)
    first = user.view.store.selection
    press(Qt.Key.Key_Down)
    assert bar.field.hasFocus() and user.view.store.selection != first
    press(Qt.Key.Key_Up)
    assert user.view.store.selection == first
    press(Qt.Key.Key_Tab)
    assert not bar.field.hasFocus() and not user.view.overlays.search.isVisible()
    focused = QApplication.focusWidget()
    assert focused is not None and bar.isAncestorOf(focused)


def test_arrow_keys_in_the_path_of_a_block(make_view: MakeView) -> None:
    inner = Block({"act": Node("nn.ReLU", at=(0, 0)), "more": Node("nn.GELU", at=(200, 0))})
    document = Document(network().nodes, network().wires, blocks={"stage": inner})
    document = edits.add(document, "stage", Node(block_nodes.type_of("stage"), at=(0, 200)))
    view = make_view(document)
    assert view.store.enter("stage")
    path = view.overlays.breadcrumbs
    path.focus()
    press(Qt.Key.Key_Left)
    assert path.buttons[0].hasFocus() and not view.store.selection
    press(Qt.Key.Key_Right)
    assert path.buttons[-1].hasFocus() and not view.store.selection
    press(Qt.Key.Key_Escape)
    assert view.hasFocus()
    QTest.keyClick(view, Qt.Key.Key_Up, CTRL)
    assert not view.store.location
