"""The find bar, and what it finds."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.document.blocks.block_grouping import group
from studio.document.model import Document, Node
from studio.lowering.problems.problem import Problem
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.camera import MIN_SCALE
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.node_finder import find_nodes
from tests.ui.canvas.conftest import MakeView, network
from tests.ui.canvas.mouse_and_keyboard import SHIFT, MouseAndKeyboard

PROBLEM = Problem("dead-end", "warning", "relu feeds nothing.", node="relu")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hid", ["hidden"]),
        ("LINEAR", ["hidden"]),
        ("out_features = 32", ["hidden"]),
        ("nn.", ["hidden", "relu", "loss"]),
        ("feeds nothing", ["relu"]),
        ("linear 32", ["hidden"]),
        ("linear 33", []),
        ("  ", []),
    ],
)
def test_what_is_found(text: str, found: list[str]) -> None:
    assert [each.path for each in find_nodes(network(), catalogue(), [PROBLEM], text)] == found


def test_names_come_first() -> None:
    document = Document({"a": Node("nn.ReLU"), "relu_2": Node("nn.GELU")})
    assert [each.path for each in find_nodes(document, catalogue(), (), "relu")] == ["relu_2", "a"]


def test_nodes_inside_blocks_are_found_by_path() -> None:
    grouped, instance = group(network(), ["hidden", "relu"], "trunk")
    assert [each.path for each in find_nodes(grouped, catalogue(), (), "hidden")] == [f"{instance}.hidden"]


def test_typing_selects_the_first_match_and_counts(view: CanvasView, user: MouseAndKeyboard, qtbot: QtBot) -> None:
    bar = view.overlays.find_bar
    bar.open()
    user.type("data.", bar.field)
    qtbot.waitUntil(lambda: view.store.selection == {"digits"})
    assert bar.count.text() == "1 of 2"
    assert bar.reason.text() == "digits: data.Digits"
    assert view.canvas_scene.nodes["batches"].state.highlighted
    user.key(Qt.Key.Key_Return, target=bar.field)
    assert view.store.selection == {"batches"}
    user.key(Qt.Key.Key_Return, SHIFT, target=bar.field)
    assert view.store.selection == {"digits"}
    user.type("xyz", bar.field)
    user.key(Qt.Key.Key_Return, target=bar.field)
    assert bar.count.text() == "No matches"
    user.key(Qt.Key.Key_Escape, target=bar.field)
    assert not any(node.state.highlighted for node in view.canvas_scene.nodes.values())


def test_a_match_inside_a_block_is_shown_there(view: CanvasView, user: MouseAndKeyboard) -> None:
    grouped, _ = group(network(), ["hidden", "relu"], "trunk")
    view.store.project.edit("Group", lambda _: grouped)
    bar = view.overlays.find_bar
    bar.open()
    user.type("hidden", bar.field)
    user.key(Qt.Key.Key_Return, target=bar.field)
    assert view.store.block == "trunk"
    assert view.store.selection == {"hidden"}


def test_deleted_matches_are_no_longer_counted(view: CanvasView, user: MouseAndKeyboard) -> None:
    bar = view.overlays.find_bar
    bar.open()
    user.type("data.", bar.field)
    user.key(Qt.Key.Key_Return, target=bar.field)
    view.canvas_actions.delete()
    assert bar.count.text() == "1"


def test_home_fits_a_graph_of_any_extent(make_view: MakeView) -> None:
    view = make_view(Document({"a": Node("nn.ReLU"), "b": Node("nn.ReLU", at=(250_000, 90_000))}))
    user = MouseAndKeyboard(view)
    user.key(Qt.Key.Key_Home)
    assert view.camera.scale < MIN_SCALE
    assert view.camera.visible.contains(0, 0)
    assert view.camera.visible.contains(250_000, 90_000)
    view.canvas_actions.zoom(-1)
    assert view.camera.visible.contains(250_000, 90_000)
    view.canvas_actions.zoom(1)
    assert view.camera.scale < MIN_SCALE
