"""Edits with mouse and keyboard keep nodes apart and wires long enough for their shape labels."""

from __future__ import annotations

from itertools import combinations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.level_of_detail import LevelOfDetail
from studio.ui.palette import PalettePanel
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.panels.inspector.text_fields import TypedField
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard
from tests.ui.canvas.test_canvas_view import drop_type

Key = Qt.Key


@pytest.fixture
def view(qtbot: QtBot, window: MainWindow, project: Project) -> CanvasView:
    """The digits template at 100%."""
    view = window.project_views[project].canvas
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    view.camera.zoom_to(1.0, animated=False)
    return view


def overlapping(view: CanvasView) -> list[tuple[str, str]]:
    boxes = view.canvas_scene.boxes()
    return [(a, b) for a, b in combinations(boxes, 2) if boxes[a].overlaps(boxes[b])]


def unlabeled(view: CanvasView, name: str) -> list[str]:
    """Wires of a node that have a shape but no visible label."""
    items = view.canvas_scene.wires.items()
    return [
        str(wire)
        for wire, item in items
        if name in (wire.source.node, wire.target.node) and not (item.label and item.visible_label())
    ]


def test_nodes_dropped_on_wires_do_not_overlap(view: CanvasView, project: Project, qtbot: QtBot) -> None:
    user = MouseAndKeyboard(view)
    for key, wire in (
        ("nn.Dropout", "flatten.output -> hidden.input"),
        ("nn.BatchNorm1d", "hidden.output -> relu.input"),
        ("nn.Tanh", "relu.output -> dropout.input"),
    ):
        item = next(item for each, item in view.canvas_scene.wires.items() if str(each) == wire)
        view.camera.center_on(item.path.pointAtPercent(0.5), animated=False)
        position = user.wire(wire)
        assert view.canvas_scene.hit(view.camera.to_scene(position)).wire == item.wire
        drop_type(view, key, position)
        qtbot.waitUntil(lambda: project.store.is_checked)
        assert overlapping(view) == []
        if key != "nn.BatchNorm1d":  # which stands in a wire that leads back
            assert unlabeled(view, next(iter(project.store.selection))) == []


def test_long_name_typed_in_the_editor_pushes_the_neighbors(view: CanvasView, project: Project, qtbot: QtBot) -> None:
    user = MouseAndKeyboard(view)
    name = "a_name_that_goes_on_for_longer_than_nodes_are_wide"
    view.reveal("dropout")
    user.click(user.node("dropout"))
    user.key(Key.Key_F2)
    editor = view.overlays.editor
    assert editor is not None
    editor.selectAll()
    user.type(name, editor)
    user.key(Key.Key_Return, target=editor)
    qtbot.waitUntil(lambda: project.store.is_checked and name in project.store.document.nodes)
    assert view.canvas_scene.nodes[name].layout.width > 200
    assert overlapping(view) == []
    user.key(Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert "dropout" in project.store.document.nodes and not project.store.history.can_undo


def test_summary_that_grows_while_typing_pushes_the_neighbors(
    view: CanvasView, window: MainWindow, project: Project, qtbot: QtBot
) -> None:
    adam = view.canvas_scene.nodes["adam"].box
    close = (adam.right + 16, adam.top)
    project.store.edit("Move", lambda document: edits.move(document, {"accuracy": close}))
    user = MouseAndKeyboard(view)
    view.reveal("adam")
    user.click(user.node("adam"))
    form = window.project_views[project].inspector.form
    assert isinstance(form, NodeForm)
    field = next(row.field for row in form.rows if row.parameter.name == "weight_decay")
    assert isinstance(field, TypedField)
    QTest.mouseClick(field.line, Qt.MouseButton.LeftButton)
    field.line.selectAll()
    QTest.keyClicks(field.line, "0.01")
    QTest.keyClick(field.line, Key.Key_Return)
    qtbot.waitUntil(lambda: project.store.is_checked and view.canvas_scene.nodes["adam"].box.right > close[0])
    assert view.canvas_scene.nodes["accuracy"].at[0] > close[0]
    assert overlapping(view) == []


def test_types_from_the_palette_get_wires_with_space_for_shapes(
    view: CanvasView, window: MainWindow, project: Project, qtbot: QtBot
) -> None:
    panel = window.findChild(PalettePanel)
    assert isinstance(panel, PalettePanel)
    project.store.edit("Remove", lambda document: edits.remove(document, list(document.nodes)))
    for text in ("digits", "normalize", "loader", "conv2d", "relu", "flatten", "linear"):
        panel.field.setFocus()
        panel.field.selectAll()
        QTest.keyClicks(panel.field, text)
        QTest.keyClick(panel.field, Key.Key_Return)
    names = list(project.store.document.nodes)

    def set_sizes(document: Document) -> Document:
        document = edits.set_param(document, "conv2d", "out_channels", 128)
        document = edits.set_param(document, "conv2d", "kernel_size", 3)
        return edits.set_param(document, "linear", "out_features", 10)

    project.store.edit("Set sizes", set_sizes)
    qtbot.waitUntil(lambda: project.store.is_checked)
    view.camera.zoom_to(1.0, animated=False)
    assert overlapping(view) == []
    assert len(view.canvas_scene.wires) == len(names) - 1 == 6
    assert [fault for name in names for fault in unlabeled(view, name)] == []


def test_template_opens_readable_at_200_percent(window: MainWindow, qtbot: QtBot, project: Project) -> None:
    """A screen of 1024×700 pixels at 200% has half as many logical pixels in each direction."""
    window.resize(512, 350)
    view = window.project_views[project].canvas
    view.canvas_actions.open_at_readable_zoom()
    zoom = view.canvas_scene.paint_context.zoom
    assert zoom.detail is LevelOfDetail.FULL and zoom.scale >= 0.75
    assert len(view.canvas_scene.nodes) >= 11
    visible = view.camera.visible
    assert any(visible.contains(node.sceneBoundingRect().center()) for node in view.canvas_scene.nodes.values())
