"""Canvas commands with their default keys."""

from __future__ import annotations

import itertools

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document
from studio.ui.canvas.canvas_actions import CanvasActions
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.project.project_store import ProjectStore
from studio.ui.theme import motion
from tests.ui.canvas.conftest import MakeView, network
from tests.ui.canvas.mouse_and_keyboard import CTRL, SHIFT, MouseAndKeyboard

Key = Qt.Key


def wires(store: ProjectStore) -> set[str]:
    return {str(here) for here in store.document.wires}


def test_delete_removes_nodes_with_their_wires(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden", "relu"])
    user.key(Key.Key_Delete)
    assert set(store.document.nodes) == {"digits", "batches", "loss", "adam"}
    assert store.history.undo_title == "Delete 2 nodes"
    assert store.selection == frozenset()
    store.undo()
    assert store.document == network()


def test_ctrl_delete_reconnects(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden", "relu"])
    user.key(Key.Key_Delete, CTRL)
    assert "batches.input -> loss.input" in wires(store)


def test_duplicate_copies_wires_between_nodes(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden", "relu"])
    user.key(Key.Key_D, CTRL)
    assert store.selection == {"hidden_2", "relu_2"}
    assert "hidden_2.output -> relu_2.input" in wires(store)
    (x, y), (relu_x, relu_y) = store.document.nodes["hidden_2"].at, store.document.nodes["relu_2"].at
    assert (x, relu_x) == (440, 640) and y == relu_y > 0
    assert "batches.input -> hidden_2.input" not in wires(store)


def test_copied_nodes_are_json_text_on_the_clipboard(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden"])
    user.key(Key.Key_C, CTRL)
    assert '"nn.Linear"' in QGuiApplication.clipboard().text()
    user.move(user.at(600, 240))
    user.key(Key.Key_V, CTRL)
    assert store.selection == {"hidden_2"}
    assert store.document.nodes["hidden_2"].at == (600, 240)
    user.key(Key.Key_V, CTRL)
    user.key(Key.Key_V, CTRL)
    boxes = user.view.canvas_scene.boxes()
    assert not [(a, b) for a in boxes for b in boxes if a < b and boxes[a].overlaps(boxes[b])]
    assert store.document.nodes["hidden_4"].at[0] == 600


def test_paste_with_inputs(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden"])
    user.key(Key.Key_C, CTRL)
    user.key(Key.Key_V, CTRL | SHIFT)
    assert "batches.input -> hidden_2.input" in wires(store)


def test_cut(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["adam"])
    user.key(Key.Key_X, CTRL)
    assert "adam" not in store.document.nodes
    assert '"optim.Adam"' in QGuiApplication.clipboard().text()


def test_pasting_other_text_is_refused(user: MouseAndKeyboard, store: ProjectStore) -> None:
    reasons: list[str] = []
    store.refused.connect(reasons.append)
    QGuiApplication.clipboard().setText("import this")
    user.key(Key.Key_V, CTRL)
    assert store.document == network()
    assert "clipboard" in reasons[0]


def test_select_all_and_clear_the_selection(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.key(Key.Key_A, CTRL)
    assert store.selection == set(network().nodes)
    user.key(Key.Key_Escape)
    assert store.selection == frozenset()


def test_m_toggles_muted(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["relu", "hidden"])
    user.key(Key.Key_M)
    assert store.document.nodes["relu"].muted
    assert store.history.undo_title == "Mute 2 nodes"
    user.key(Key.Key_M)
    assert not store.document.nodes["relu"].muted
    assert store.history.undo_title == "Unmute 2 nodes"


def test_arrow_keys_select_the_next_node(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden"])
    user.key(Key.Key_Right)
    assert store.selection == {"relu"}
    user.key(Key.Key_Left)
    user.key(Key.Key_Left)
    assert store.selection == {"batches"}
    user.key(Key.Key_Down)
    assert store.selection == {"batches"}


def test_arrow_key_without_a_selection_selects_the_most_central_node(
    user: MouseAndKeyboard, store: ProjectStore
) -> None:
    user.view.camera.center_on(QPointF(1100, 30))
    user.key(Key.Key_Right)
    assert store.selection == {"adam"}


def test_arrow_key_reveals_the_selected_node(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.view.camera.center_on(QPointF(-600, 0))
    store.select(["digits"])
    user.key(Key.Key_Right)
    box = user.view.canvas_scene.nodes["batches"].box
    assert user.view.camera.visible.contains(QPointF(box.right, box.bottom))


def test_nudges_are_one_undo_step(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["adam"])
    user.key(Key.Key_Right, SHIFT)
    user.key(Key.Key_Right, SHIFT)
    user.key(Key.Key_Down, SHIFT)
    assert store.document.nodes["adam"].at == (1096, 8)
    store.undo()
    assert store.document.nodes["adam"].at == (1080, 0)


def test_f_fits_the_selection_and_home_fits_all(user: MouseAndKeyboard, store: ProjectStore) -> None:
    camera, canvas = user.view.camera, user.view.canvas_scene
    store.select(["hidden"])
    user.key(Key.Key_F)
    box = canvas.nodes["hidden"].box
    assert (camera.visible.center() - QPointF(*box.center)).manhattanLength() <= 2
    user.key(Key.Key_Home)
    assert all(camera.visible.contains(QPointF(*box.center)) for box in canvas.boxes().values())


@pytest.mark.parametrize(("key", "keys", "scale"), [(Key.Key_Plus, CTRL, 1.2), (Key.Key_Minus, CTRL, 1 / 1.2)])
def test_zoom_keys(user: MouseAndKeyboard, key: Qt.Key, keys: Qt.KeyboardModifier, scale: float) -> None:
    middle = user.view.camera.visible.center()
    user.key(key, keys)
    assert user.view.camera.scale == pytest.approx(scale)
    assert (user.view.camera.visible.center() - middle).manhattanLength() <= 3
    user.key(Key.Key_0, CTRL)
    assert user.view.camera.scale == 1.0


# -- the search palette


@pytest.mark.parametrize(("key", "keys"), [(Key.Key_Tab, Qt.KeyboardModifier.NoModifier), (Key.Key_A, SHIFT)])
def test_search_opens_at_the_pointer(user: MouseAndKeyboard, key: Qt.Key, keys: Qt.KeyboardModifier) -> None:
    user.move(QPoint(300, 120))
    user.key(key, keys)
    assert user.view.overlays.search.isVisible()
    assert user.view.overlays.search.pos() == QPoint(300, 120)
    assert user.view.overlays.search.field.hasFocus()


def test_tapping_space_opens_the_search(user: MouseAndKeyboard) -> None:
    QTest.keyPress(user.view, Key.Key_Space)
    assert not user.view.overlays.search.isVisible()
    QTest.keyRelease(user.view, Key.Key_Space)
    assert user.view.overlays.search.isVisible()


def test_escape_closes_the_search_and_restores_the_focus(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.key(Key.Key_Tab)
    user.key(Key.Key_Escape, target=user.view.overlays.search.field)
    assert not user.view.overlays.search.isVisible()
    assert user.view.hasFocus()
    assert store.document == network()


def test_focus_loss_closes_the_search(user: MouseAndKeyboard) -> None:
    user.key(Key.Key_Tab)
    user.click(user.at(600, 300))
    assert not user.view.overlays.search.isVisible()


def test_new_node_is_wired_after_the_selected_node(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.view.canvas_actions.add_after(store.catalogue["nn.GELU"], "adam")  # an optimizer feeds no activation
    assert store.document == network()
    store.edit("Delete", lambda document: edits.remove(document, ["relu"]))
    store.select(["hidden"])
    user.key(Key.Key_Tab)
    user.type("gelu", user.view.overlays.search.field)
    user.key(Key.Key_Return, target=user.view.overlays.search.field)
    assert "hidden.output -> gelu.input" in wires(store)
    x, y = store.document.nodes["gelu"].at
    assert x > user.view.canvas_scene.nodes["hidden"].box.right
    assert y == 0
    assert store.selection == {"gelu"}
    store.undo()
    assert "gelu" not in store.document.nodes


def test_build_a_network_by_keyboard(make_view: MakeView) -> None:
    view = make_view(Document())
    user = MouseAndKeyboard(view)
    for text in ("digits", "loader", "flatten", "linear", "cross entropy", "adam"):
        user.key(Key.Key_Tab)
        user.type(text, view.overlays.search.field)
        user.key(Key.Key_Return, target=view.overlays.search.field)
    assert wires(view.store) == {
        "digits.samples -> loader.samples",
        "loader.input -> flatten.input",
        "flatten.output -> linear.input",
        "linear.output -> cross_entropy.input",
        "cross_entropy.loss -> adam.loss",
    }
    boxes = list(view.canvas_scene.boxes().values())
    assert all(a.right < b.left for a, b in itertools.pairwise(boxes))


# -- renaming


def test_f2_opens_the_name_editor(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden"])
    user.key(Key.Key_F2)
    editor = user.view.overlays.editor
    assert editor is not None
    assert editor.hasFocus()
    assert editor.selectedText() == "hidden"
    user.type("first", editor)
    user.key(Key.Key_Return, target=editor)
    assert "first" in store.document.nodes
    assert "first.output -> relu.input" in wires(store)
    assert store.selection == {"first"}
    assert user.view.overlays.editor is None
    assert user.view.hasFocus()


@pytest.mark.parametrize(("name", "reason"), [("relu", "already"), ("!", "empty"), ("", "empty")])
def test_invalid_name_is_refused_while_typing(
    user: MouseAndKeyboard, store: ProjectStore, name: str, reason: str
) -> None:
    store.select(["hidden"])
    user.key(Key.Key_F2)
    editor = user.view.overlays.editor
    assert editor is not None
    editor.clear()
    user.type(name, editor)
    assert reason in editor.reason.text()
    assert editor.reason.isVisible()
    user.key(Key.Key_Return, target=editor)
    assert store.document == network()
    user.key(Key.Key_Escape, target=editor)
    assert user.view.overlays.editor is None


def test_name_editor_stays_within_the_view(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit("Move", lambda document: edits.move(document, {"hidden": (5000.0, 0.0)}))
    store.select(["hidden"])
    user.key(Key.Key_F2)
    editor = user.view.overlays.editor
    assert editor is not None
    assert user.view.viewport().rect().contains(editor.geometry())


def test_name_editor_shows_the_identifier_for_a_title(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden"])
    user.key(Key.Key_F2)
    editor = user.view.overlays.editor
    assert editor is not None
    user.type("my first layer", editor)
    assert editor.reason.isVisible() and "my_first_layer" in editor.reason.text()
    user.key(Key.Key_Return, target=editor)
    assert "my_first_layer" in store.document.nodes


def test_name_editor_closes_when_its_node_is_removed(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden"])
    user.key(Key.Key_F2)
    store.edit("Delete", lambda document: edits.remove(document, ["hidden"]))
    assert user.view.overlays.editor is None


# -- arranging


def test_l_lays_out(user: MouseAndKeyboard, store: ProjectStore, qtbot: QtBot) -> None:
    store.edit("Mess", lambda document: edits.move(document, {"relu": (0, 400), "adam": (200, 300)}))
    with qtbot.waitSignal(user.view.auto_layout.finished):
        user.key(Key.Key_L)
    boxes = user.view.canvas_scene.boxes()
    order = ("digits", "batches", "hidden", "relu", "loss", "adam")
    following = [(boxes[a], boxes[b]) for a, b in itertools.pairwise(order)]
    assert all(a.right < b.left or a.bottom <= b.top for a, b in following)  # to the right, or in the next row
    assert store.history.undo_title == "Lay out 6 nodes"
    store.undo()
    assert store.document.nodes["relu"].at == (0, 400)


def test_l_lays_out_only_the_selection(user: MouseAndKeyboard, store: ProjectStore, qtbot: QtBot) -> None:
    store.edit("Mess", lambda document: edits.move(document, {"relu": (440, 400), "adam": (200, 300)}))
    store.select(["hidden", "relu"])
    with qtbot.waitSignal(user.view.auto_layout.finished):
        user.key(Key.Key_L)
    assert store.document.nodes["adam"].at == (200, 300)
    assert store.document.nodes["hidden"].at[1] == store.document.nodes["relu"].at[1]


def test_an_edit_cancels_the_layout(view: CanvasView, store: ProjectStore, qtbot: QtBot) -> None:
    view.canvas_actions.lay_out()
    store.edit("Move", lambda document: edits.move(document, {"relu": (0, 800)}))
    assert not view.auto_layout.is_busy
    qtbot.wait(50)
    assert store.document.nodes["relu"].at == (0, 800)
    assert store.history.undo_title == "Move"


def test_align_and_distribute_are_one_edit_each(view: CanvasView, store: ProjectStore) -> None:
    do: CanvasActions = view.canvas_actions
    store.select(["hidden", "relu", "loss"])
    do.align("left")
    assert {store.document.nodes[name].at[0] for name in store.selection} == {440}
    assert store.history.undo_title == "Align 3 nodes"
    store.undo()
    do.distribute("x")
    boxes = view.canvas_scene.boxes(["hidden", "relu", "loss"])
    gaps = (boxes["relu"].left - boxes["hidden"].right, boxes["loss"].left - boxes["relu"].right)
    assert abs(gaps[0] - gaps[1]) <= 8


def test_layout_animation_ends_at_the_document_positions(view: CanvasView, store: ProjectStore, qtbot: QtBot) -> None:
    motion.set_reduced(False)
    store.select(["hidden", "relu"])
    view.canvas_actions.align("bottom")
    store.select(["hidden", "adam"])
    view.canvas_actions.align("left")
    assert view.auto_layout.is_busy
    qtbot.waitUntil(lambda: not view.auto_layout.is_busy)
    assert all(item.at == store.document.nodes[name].at for name, item in view.canvas_scene.nodes.items())


def test_frozen_and_recomputed_nodes_have_badges(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden", "relu"])
    user.key(Qt.Key.Key_M, Qt.KeyboardModifier.ShiftModifier)
    assert {name for name, node in store.document.nodes.items() if node.frozen} == {"hidden"}  # relu has no parameters
    assert user.view.canvas_scene.nodes["hidden"].content.frozen
    user.view.canvas_actions.recompute()
    assert user.view.canvas_scene.nodes["relu"].content.recomputed
    store.undo()
    user.key(Qt.Key.Key_M, Qt.KeyboardModifier.ShiftModifier)
    assert not any(node.frozen or node.recomputed for node in store.document.nodes.values())
