"""Frames and comments on the canvas, with mouse and key events."""

from __future__ import annotations

from functools import partial
from typing import get_args

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from studio.document import edits, frames
from studio.document.blocks.block_grouping import group
from studio.document.model import Frame, FrameColor, Node
from studio.ui.canvas.canvas_style import CanvasStyle
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.frames.frame_editor import FrameEditor
from studio.ui.canvas.frames.frame_geometry import box_of, title_box
from studio.ui.project.project_store import ProjectStore
from studio.ui.theme import theme
from tests.ui.canvas.conftest import MakeView, network
from tests.ui.canvas.mouse_and_keyboard import CTRL, RIGHT, SHIFT, MouseAndKeyboard

FRAME = Frame("Trunk", "", "green", (416, -64), (368, 144))
"""Around hidden and relu of the network."""
COMMENT = Frame("", "Try GELU", "amber", (440, 160), (160, 80))


@pytest.fixture
def store(view: CanvasView) -> ProjectStore:
    for name, frame in {"trunk": FRAME, "comment": COMMENT}.items():
        view.store.edit("Add frame", partial(frames.add_frame, name=name, frame=frame))
    return view.store.project


def title(user: MouseAndKeyboard, name: str) -> QPoint:
    """A point on the title of a frame, or in a comment."""
    frame = user.view.store.document.frames[name]
    box = title_box(frame, user.view.camera.scale) or box_of(frame)
    return user.at(box.left + 20, (box.top + min(box.bottom, box.top + 28)) / 2)


def editor(view: CanvasView) -> FrameEditor:
    [found] = [each for each in view.findChildren(FrameEditor) if each.isVisible()]
    return found


def test_ctrl_j_frames_the_selection_and_asks_for_the_title(view: CanvasView, user: MouseAndKeyboard) -> None:
    view.store.select(["hidden", "relu"])
    user.key(Qt.Key.Key_J, CTRL)
    [frame] = view.store.document.frames.values()
    assert frames.nodes_in(view.store.document, frame) == ["hidden", "relu"]
    assert view.store.project.history.undo_title == "Frame 2 nodes"
    user.type("Trunk", editor(view))
    user.key(Qt.Key.Key_Return, target=editor(view))
    assert [each.title for each in view.store.document.frames.values()] == ["Trunk"]
    assert view.store.project.history.undo_title == "Rename frame Frame to Trunk"
    assert view.hasFocus()
    view.store.project.undo()
    view.store.project.undo()
    assert view.store.document == network()


def test_dragging_the_title_moves_the_frame_with_its_nodes(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.drag(title(user, "trunk"), title(user, "trunk") + QPoint(30, 90), title(user, "trunk") + QPoint(41, 163))
    assert store.document.frames["trunk"].at == (456, 96)
    assert store.document.nodes["hidden"].at == (480, 160)
    assert store.document.nodes["relu"].at == (680, 160)
    assert store.document.nodes["loss"].at == (840, 0)
    assert store.history.undo_title == "Move frame Trunk"
    assert user.view.canvas_scene.frames.selected == {"trunk"}
    store.undo()
    assert store.document.frames["trunk"] == FRAME
    assert user.view.canvas_scene.frames.boxes()["trunk"] == box_of(FRAME)


def test_escape_cancels_moving_a_frame(user: MouseAndKeyboard, store: ProjectStore) -> None:
    before = store.document
    user.hold(title(user, "trunk"), title(user, "trunk") + QPoint(80, 80))
    assert user.view.canvas_scene.nodes["hidden"].at != (440, 0)
    assert user.view.canvas_scene.frames.boxes()["trunk"] != box_of(FRAME)
    user.key(Qt.Key.Key_Escape)
    assert user.view.canvas_scene.nodes["hidden"].at == (440, 0)
    assert user.view.canvas_scene.frames.boxes()["trunk"] == box_of(FRAME)
    user.release(title(user, "trunk"))
    assert store.document is before


@pytest.mark.parametrize(
    ("corner", "by", "at", "size"),
    [
        ((784, 80), (40, 40), (416, -64), (408, 184)),
        ((416, 0), (-40, 500), (376, -64), (408, 144)),
        ((600, -64), (0, -24), (416, -88), (368, 168)),
        ((784, -40), (-900, 0), (416, -64), (32, 144)),
    ],
)
def test_edges_and_corners_resize(
    user: MouseAndKeyboard,
    store: ProjectStore,
    corner: tuple[float, float],
    by: tuple[int, int],
    at: tuple[float, float],
    size: tuple[float, float],
) -> None:
    start = user.at(*corner)
    user.drag(start, start + QPoint(*by))
    frame = store.document.frames["trunk"]
    assert (frame.at, frame.size) == (at, size)
    assert store.document.nodes == network().nodes
    assert store.history.undo_title == "Resize frame Trunk"


@pytest.mark.parametrize("by", ["F2", "double click"])
def test_rename_a_frame(user: MouseAndKeyboard, store: ProjectStore, by: str) -> None:
    if by == "F2":
        user.click(title(user, "trunk"))
        user.key(Qt.Key.Key_F2)
    else:
        user.double_click(title(user, "trunk"))
    user.type("Body", editor(user.view))
    user.key(Qt.Key.Key_Return, target=editor(user.view))
    assert store.document.frames["trunk"].title == "Body"
    assert store.history.undo_title == "Rename frame Trunk to Body"


def test_escape_keeps_the_title(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.double_click(title(user, "trunk"))
    user.type("Body", editor(user.view))
    user.key(Qt.Key.Key_Escape, target=editor(user.view))
    assert store.document.frames["trunk"].title == "Trunk"
    assert user.view.hasFocus()


def test_a_click_elsewhere_keeps_the_typed_comment(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.double_click(title(user, "comment"))
    user.type("first", editor(user.view))
    user.key(Qt.Key.Key_Return, SHIFT, target=editor(user.view))
    user.type("second", editor(user.view))
    user.click(user.at(1000, 300))
    assert store.document.frames["comment"].text == "first\nsecond"
    assert store.history.undo_title == "Edit comment Try GELU"


def test_undo_closes_the_editor_of_a_new_comment(view: CanvasView, user: MouseAndKeyboard) -> None:
    user.key(Qt.Key.Key_J, CTRL | SHIFT)
    assert editor(view).toPlainText() == "Comment"
    view.store.project.undo()
    assert not [each for each in view.findChildren(FrameEditor) if each.isVisible()]
    assert view.store.document == network()


def test_the_menu_of_a_frame_changes_its_color(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.click(title(user, "trunk"), RIGHT)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    colors = [action.text() for action in menu.actions() if action.text().endswith(" frame")]
    assert colors == [f"{color.capitalize()} frame" for color in get_args(FrameColor)]
    next(action for action in menu.actions() if action.text() == "Rose frame").trigger()
    menu.close()
    assert store.document.frames["trunk"].color == "rose"
    assert store.history.undo_title == "Color frame Trunk rose"


def test_the_body_of_a_frame_starts_a_rubber_band(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.drag(user.at(430, -20), user.at(700, 60))
    assert store.selection == {"hidden", "relu"}
    assert user.view.canvas_scene.frames.selected == frozenset()
    user.drag(user.at(400, -90), user.at(800, 100))
    assert user.view.canvas_scene.frames.selected == {"trunk"}


def test_delete_removes_the_frame_and_keeps_its_nodes(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.click(title(user, "trunk"))
    user.key(Qt.Key.Key_Delete)
    assert store.document.frames.keys() == {"comment"}
    assert store.document.nodes == network().nodes
    assert store.history.undo_title == "Delete frame Trunk"


def test_duplicates_of_framed_nodes_have_a_frame(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden", "relu"])
    user.key(Qt.Key.Key_D, CTRL)
    copy = store.document.frames["trunk_2"]
    assert copy.title == "Trunk"
    assert set(frames.nodes_in(store.document, copy)) >= {"hidden_2", "relu_2"}
    assert copy.at[0] == FRAME.at[0] and copy.at[1] >= FRAME.at[1] + FRAME.size[1], "it covers no other frame"


def test_copy_and_paste_a_comment(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.click(title(user, "comment"))
    user.key(Qt.Key.Key_C, CTRL)
    assert "Try GELU" in QGuiApplication.clipboard().text()
    user.key(Qt.Key.Key_V, CTRL)
    assert store.document.frames["comment_2"].text == "Try GELU"
    assert user.view.canvas_scene.frames.selected == {"comment_2"}


def test_arrow_keys_move_a_frame_in_one_step(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.click(title(user, "trunk"))
    steps = len(store.history.entries)
    for _ in range(3):
        user.key(Qt.Key.Key_Right, SHIFT)
    assert store.document.frames["trunk"].at == (440, -64)
    assert store.document.nodes["hidden"].at == (464, 0)
    assert len(store.history.entries) == steps + 1


def test_a_node_leaves_a_frame_by_moving_out(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.drag(user.node("relu"), user.node("relu") + QPoint(0, 200))
    assert frames.nodes_in(store.document, store.document.frames["trunk"]) == ["hidden"]


@pytest.mark.parametrize("scale", [0.05, 0.2, 0.4, 1.0, 2.0])
def test_the_title_can_be_read_and_grabbed_at_any_zoom(
    user: MouseAndKeyboard, store: ProjectStore, scale: float
) -> None:
    user.view.camera.zoom_to(scale)
    box = title_box(store.document.frames["trunk"], user.view.camera.scale)
    assert box is not None
    assert box.height * scale >= 16
    hit = user.view.canvas_scene.hit(user.view.camera.to_scene(title(user, "trunk")))
    assert hit.frame == "trunk"


def test_frames_are_drawn_behind_nodes_and_smaller_ones_in_front(view: CanvasView, store: ProjectStore) -> None:
    items = {item.name: item for item in view.canvas_scene.frames.items}
    assert items["trunk"].zValue() < items["comment"].zValue() < 0


def test_home_fits_frames(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit("Move", lambda document: frames.change_frame(document, "comment", at=(5000, 3000)))
    user.key(Qt.Key.Key_Home)
    assert user.view.camera.visible.contains(5000, 3000)


def test_a_project_with_only_a_comment_shows_no_hint(make_view: MakeView) -> None:
    view = make_view(frames.add_frame(edits.remove(network(), network().nodes), "comment", COMMENT))
    assert not view.overlays.hint.content.isVisible()


def test_the_accessible_description_names_the_frame(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.click(title(user, "trunk"))
    assert user.view.accessibleDescription() == "frame Trunk selected"


@pytest.mark.parametrize("name", ["light", "dark"])
def test_titles_have_contrast(name: str, qapp: QApplication) -> None:
    style = CanvasStyle(theme.load(name))
    for color in get_args(FrameColor):
        for brush in (style.frame_header[color], style.frame_fill[color]):
            assert theme.contrast(style.text, brush.color()) >= 4.5


def test_nested_frames_move_together(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit(
        "Add", lambda document: frames.add_frame(document, "inner", Frame("In", "", "gray", (424, -8), (160, 72)))
    )
    start = title(user, "trunk")
    user.drag(start, start + QPoint(0, 80))
    assert store.document.frames["inner"].at == (424, 72)


def test_frames_inside_a_block_belong_to_its_definition(view: CanvasView, user: MouseAndKeyboard) -> None:
    project = view.store.project
    grouped, instance = group(network(), ["hidden", "relu"], "trunk")
    project.edit("Group", lambda _: grouped)
    view.store.enter(instance)
    view.store.select(["hidden", "relu"])
    user.key(Qt.Key.Key_J, CTRL)
    user.key(Qt.Key.Key_Escape, target=editor(view))
    assert list(project.document.blocks["trunk"].frames) == ["frame"]
    assert project.document.frames == {}
    view.store.leave()
    assert not view.canvas_scene.frames.items
    project.undo()
    assert view.store.block == "trunk"
    assert project.document.blocks["trunk"].frames == {}


def test_shift_and_a_click_add_a_frame_to_the_selection(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.click(title(user, "trunk"))
    user.click(title(user, "comment"), keys=SHIFT)
    assert user.view.canvas_scene.frames.selected == {"trunk", "comment"}
    QTest.keyClick(user.view, Qt.Key.Key_Delete)
    assert store.document.frames == {}
    assert store.history.undo_title == "Delete 2 frames"
    assert isinstance(store.document.nodes["hidden"], Node)
