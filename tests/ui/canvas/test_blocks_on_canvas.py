"""Grouping, unpacking, entering and leaving blocks with mouse and keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_locations import Step
from studio.document.model import Document, Node
from studio.lowering.check import Checker
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.project.project_store import ProjectStore
from tests.ui.canvas.conftest import FakeChecker, MakeView, network, wire
from tests.ui.canvas.mouse_and_keyboard import CTRL, SHIFT, MouseAndKeyboard

Key = Qt.Key


@pytest.fixture
def checker() -> FakeChecker:
    """The real check, so that graphs inside blocks have shapes."""
    return RealChecker()


@pytest.fixture
def view(make_view: MakeView) -> CanvasView:
    """The network with normalized images, so that its layers have shapes."""
    return make_view(normalized())


def normalized() -> Document:
    document = edits.add(network(), "normalize", Node("transforms.Normalize", at=(0, 120)))
    document = edits.disconnect(document, [wire("digits.samples -> batches.samples")])
    document = edits.connect(document, wire("digits.samples -> normalize.samples"))
    return edits.connect(document, wire("normalize.samples -> batches.samples"))


class RealChecker(FakeChecker):
    def __init__(self) -> None:
        super().__init__()
        self._checker = Checker()

    def __call__(self, document: Document, base: Path | None) -> Report:
        return self._checker.check(document, catalogue(), base)


def key(view: CanvasView, *keys: tuple[Key, Qt.KeyboardModifier] | Key) -> None:
    for each in keys:
        pressed, held = each if isinstance(each, tuple) else (each, Qt.KeyboardModifier.NoModifier)
        QTest.keyClick(QApplication.focusWidget() or view, pressed, held)


def group_middle(view: CanvasView, user: MouseAndKeyboard, name: str = "") -> None:
    """Group the linear layer and the activation, and accept the name."""
    user.click(user.node("hidden"))
    user.click(user.node("relu"), keys=SHIFT)
    key(view, (Key.Key_G, CTRL))
    assert view.overlays.editor is not None
    if name:
        QTest.keyClicks(view.overlays.editor, name)
    key(view, Key.Key_Return)


def overlaps(view: CanvasView) -> list[tuple[str, str]]:
    boxes = view.canvas_scene.boxes()
    return [(a, b) for a in boxes for b in boxes if a < b and boxes[a].overlaps(boxes[b])]


def test_grouping_opens_the_name_editor_and_names_the_block(
    view: CanvasView, store: ProjectStore, user: MouseAndKeyboard, qtbot: QtBot
) -> None:
    with qtbot.assertNotEmitted(view.parameters_requested):  # Enter in the editor is not for the canvas
        group_middle(view, user, "Dense part")
    assert list(store.document.blocks) == ["dense_part"]
    assert store.document.nodes["dense_part"].type == "block.dense_part"
    assert store.selection == {"dense_part"}
    assert [entry.title for entry in store.history.entries[1:]] == [
        "Group 2 nodes into the block block",
        "Name the block dense_part",
    ]
    key(view, (Key.Key_Z, CTRL))  # undo is a command of the window
    store.undo()
    store.undo()
    assert store.document == normalized()


def test_inputs_and_outputs_without_wires_become_ports(
    view: CanvasView, store: ProjectStore, user: MouseAndKeyboard
) -> None:
    """So that a part of a network can be grouped before the rest exists."""

    def cut(document: Document) -> Document:
        document = edits.add(document, "sum", Node("ops.add", at=(660, 120)))
        document = edits.connect(document, wire("relu.output -> sum.x"))
        outside = [each for each in document.wires if "loss" in (each.source.node, each.target.node)]
        return edits.disconnect(document, outside)

    store.edit("Cut", cut)
    for name in ("hidden", "relu", "sum"):
        user.click(user.node(name), keys=SHIFT)
    key(view, (Key.Key_G, CTRL), Key.Key_Return)
    [block] = store.document.blocks.values()
    assert [name for name, node in block.nodes.items() if node.type == block_nodes.INPUT] == ["input", "y"]
    assert [name for name, node in block.nodes.items() if node.type == block_nodes.OUTPUT] == ["output"]
    assert {"y.output -> sum.y", "sum.output -> output.input"} <= {str(each) for each in block.wires}


def test_a_block_is_placed_where_it_overlaps_nothing(make_view: MakeView) -> None:
    document = edits.move(network(), {"adam": (540, 0)})  # between the two
    view = make_view(document)
    group_middle(view, MouseAndKeyboard(view))
    assert not overlaps(view)


def test_unpacking_restores_nodes_and_wires_and_makes_room(
    view: CanvasView, store: ProjectStore, user: MouseAndKeyboard, qtbot: QtBot
) -> None:
    before = store.document
    group_middle(view, user)
    view.canvas_actions.select_all()
    key(view, (Key.Key_G, CTRL | SHIFT))
    assert set(store.document.nodes) == set(before.nodes) and store.document.wires == before.wires
    assert not store.document.blocks and store.selection == {"hidden", "relu"}
    assert store.history.undo_title == "Unpack block"
    assert not overlaps(view)
    boxes = view.canvas_scene.boxes()
    assert boxes["hidden"].right < boxes["relu"].left < boxes["loss"].left


def test_a_refused_selection_says_why(
    view: CanvasView, store: ProjectStore, user: MouseAndKeyboard, qtbot: QtBot
) -> None:
    user.click(user.node("hidden"))
    user.click(user.node("loss"), keys=SHIFT)
    with qtbot.waitSignal(store.refused) as refused:
        key(view, (Key.Key_G, CTRL))
    assert "relu is between two of these nodes" in refused.args[0]
    assert view.overlays.editor is None


def test_a_loader_is_refused(view: CanvasView, store: ProjectStore, user: MouseAndKeyboard, qtbot: QtBot) -> None:
    user.click(user.node("batches"))
    user.click(user.node("hidden"), keys=SHIFT)
    before = store.document
    with qtbot.waitSignal(store.refused) as refused:
        key(view, (Key.Key_G, CTRL))
    assert refused.args[0].startswith("batches cannot be inside a block")
    assert store.document is before and store.selection == {"batches", "hidden"}


def test_a_double_click_enters_and_escape_leaves(
    view: CanvasView, store: ProjectStore, user: MouseAndKeyboard, qtbot: QtBot
) -> None:
    group_middle(view, user, "dense")
    qtbot.waitUntil(lambda: store.is_checked)
    camera = view.camera.visible.center()
    user.double_click(user.node("dense"))
    assert view.store.location == (Step("dense"),)
    assert set(view.canvas_scene.nodes) == {"input", "hidden", "relu", "output"}
    labels = {str(each): item.label for each, item in view.canvas_scene.wires.items()}
    assert labels == {
        "input.output -> hidden.input": "N×1×8×8 float32",
        "hidden.output -> relu.input": "N×1×8×32 float32",
        "relu.output -> output.input": "N×1×8×32 float32",
    }
    user.click(user.node("relu"))
    assert store.selection == {"dense.relu"}
    key(view, Key.Key_Escape)
    assert not store.selection and view.store.location
    key(view, Key.Key_Escape)
    assert view.store.location == () and store.selection == {"dense"}
    assert (view.camera.visible.center() - camera).manhattanLength() < 2


def test_edits_inside_are_one_history(view: CanvasView, store: ProjectStore, user: MouseAndKeyboard) -> None:
    group_middle(view, user, "dense")
    key(view, (Key.Key_Down, CTRL))
    assert view.store.block == "dense"
    user.click(user.node("relu"))
    key(view, Key.Key_Delete)
    assert "relu" not in store.document.blocks["dense"].nodes and store.history.undo_title == "Delete relu"
    key(view, (Key.Key_Up, CTRL))
    assert view.store.location == ()
    store.undo()  # outside: the canvas goes to the block, where something changes
    assert view.store.block == "dense" and "relu" in view.canvas_scene.nodes
    assert view.store.selection == {"relu"}
    store.undo()  # the name of the block, which is to be seen outside
    assert view.store.location == () and "block" in view.canvas_scene.nodes


def test_nested_blocks_and_copies(view: CanvasView, store: ProjectStore, user: MouseAndKeyboard, qtbot: QtBot) -> None:
    group_middle(view, user, "outer")
    key(view, (Key.Key_Down, CTRL))
    user.click(user.node("hidden"))
    key(view, (Key.Key_G, CTRL))
    QTest.keyClicks(view.overlays.editor, "inner")
    key(view, Key.Key_Return)
    assert set(store.document.blocks) == {"outer", "inner"}
    view.store.edit("Repeat", lambda graph: edits.set_param(graph, "inner", "repeat", 3))
    qtbot.waitUntil(lambda: store.is_checked)
    user.double_click(user.node("inner"))
    bar = view.overlays.breadcrumbs
    assert bar.isVisible()
    assert [button.text() for button in bar.buttons] == ["Untitled", "outer", "inner", "×3 · copy 0"]
    wires = {str(each): item.label for each, item in view.canvas_scene.wires.items()}
    key(view, (Key.Key_PageDown, CTRL))
    assert bar.buttons[-1].text() == "×3 · copy 1" and store.selection == frozenset()
    assert view.store.prefix == "outer.inner.1."
    assert all(bar.rect().contains(button.geometry()) for button in bar.buttons)
    later = {str(each): item.label for each, item in view.canvas_scene.wires.items()}
    assert wires != later  # the first copy reads the image, the second the output of the first
    QTest.mouseClick(bar.buttons[-1], Qt.MouseButton.LeftButton)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(menu.actions()[2]).center())
    assert view.store.prefix == "outer.inner.2."
    QTest.mouseClick(bar.buttons[0], Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    assert view.store.location == () and store.selection == {"outer"} and not bar.isVisible()


def test_the_canvas_leaves_a_block_that_is_gone(view: CanvasView, store: ProjectStore, user: MouseAndKeyboard) -> None:
    group_middle(view, user, "dense")
    key(view, (Key.Key_Down, CTRL))
    store.edit("Delete", lambda document: edits.remove(document, ["dense"]))
    assert view.store.location == () and "dense" not in view.canvas_scene.nodes
    store.undo()
    assert "dense" in view.canvas_scene.nodes


def test_a_selection_by_path_shows_its_graph(view: CanvasView, store: ProjectStore, user: MouseAndKeyboard) -> None:
    group_middle(view, user, "dense")
    view.reveal("dense.relu")
    assert view.store.location and view.store.selection == {"relu"}
    view.reveal("adam")
    assert not view.store.location and view.store.selection == {"adam"}
    store.select(["dense.hidden"])  # as the Code panel does
    assert view.store.block == "dense" and view.store.selection == {"hidden"}


def test_nodes_are_copied_into_another_graph(view: CanvasView, store: ProjectStore, user: MouseAndKeyboard) -> None:
    group_middle(view, user, "dense")
    user.click(user.node("loss"))
    view.canvas_actions.copy()
    key(view, Key.Key_Escape)
    user.click(user.node("dense"))
    key(view, (Key.Key_Down, CTRL))
    key(view, (Key.Key_V, CTRL))
    assert "loss" in store.document.blocks["dense"].nodes
    key(view, (Key.Key_Up, CTRL))
    key(view, (Key.Key_C, CTRL))
    key(view, (Key.Key_Down, CTRL))
    before = store.document
    key(view, (Key.Key_V, CTRL))  # an instance of the block that is shown
    assert store.document is before


def test_the_search_palette_offers_what_the_graph_can_contain(
    view: CanvasView, store: ProjectStore, user: MouseAndKeyboard
) -> None:
    def offered() -> set[str]:
        key(view, Key.Key_Tab)
        keys = {kind.key for leaf in search.model.leaves() if (kind := search.model.kind(leaf)) is not None}
        key(view, Key.Key_Escape)
        return keys

    search = view.overlays.search
    group_middle(view, user, "dense")
    outside = offered()
    assert "block.dense" in outside and "port.Input" not in outside and "optim.Adam" in outside
    key(view, (Key.Key_Down, CTRL))
    inside = offered()
    assert {"port.Input", "port.Output", "nn.Linear"} <= inside
    assert not {"block.dense", "optim.Adam", "data.Digits"} & inside
    key(view, Key.Key_Tab)
    QTest.keyClicks(search.field, "block input")
    key(view, Key.Key_Return)
    key(view, Key.Key_Escape, Key.Key_Escape)
    assert not view.store.location
    ports = [port.name for port in view.canvas_scene.nodes["dense"].content.inputs]
    assert ports == ["input", "block_input"]
    key(view, Key.Key_Escape, Key.Key_Tab)
    QTest.keyClicks(search.field, "dense")
    key(view, Key.Key_Return)
    assert store.document.nodes["dense_2"].type == "block.dense"


def test_blocks_without_instances_are_removed_by_a_command(
    view: CanvasView, store: ProjectStore, user: MouseAndKeyboard
) -> None:
    group_middle(view, user, "dense")
    command = view.find_action("canvas.remove-unused-blocks")
    assert command is not None and not command.isEnabled()
    user.click(user.node("dense"))
    key(view, Key.Key_Delete)
    assert "dense" in store.document.blocks
    store.selection_changed.emit(store.selection)  # the window refreshes commands after each edit
    command.trigger()
    assert not store.document.blocks and store.history.undo_title == "Remove the block dense"
    store.undo()
    assert "dense" in store.document.blocks


def test_unpacking_pushes_only_nodes_of_its_row(make_view: MakeView) -> None:
    document = edits.move(normalized(), {"loss": (840, 300), "adam": (1080, 300)})
    view = make_view(document)
    user = MouseAndKeyboard(view)
    group_middle(view, user)
    key(view, (Key.Key_G, CTRL | SHIFT))
    assert view.canvas_scene.nodes["loss"].at == (840, 300)
    assert not overlaps(view)


def test_files_dropped_inside_a_block_are_imported_outside(
    view: CanvasView, user: MouseAndKeyboard, qtbot: QtBot
) -> None:
    group_middle(view, user)
    key(view, (Key.Key_Down, CTRL))
    with qtbot.waitSignal(view.import_requested):
        view.import_files([Path("table.csv")], QPointF(0, 0))
    assert view.store.location == ()
