"""Adding nodes with the search palette on the canvas, by keys and mouse."""

from __future__ import annotations

import statistics
from itertools import combinations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document.model import Document, Node
from studio.lowering import check
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.geometry import Box
from studio.ui.palette.node_usage import NodeUsage
from studio.ui.palette.palette_offers import PaletteOffers
from studio.ui.palette.search_palette import SearchPalette
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.scope_store import ScopeStore
from studio.ui.settings import Settings
from tests.call_count import calls
from tests.ui.canvas.conftest import FakeChecker, MakeView, network, wire
from tests.ui.canvas.mouse_and_keyboard import SHIFT, MouseAndKeyboard

Key = Qt.Key


def images() -> Document:
    """Images of digits in batches, without a network."""
    nodes = {"digits": Node("data.Digits"), "batches": Node("data.Batches", at=(200, 0))}
    return Document(nodes, (wire("digits.samples -> batches.samples"),))


@pytest.fixture
def image_view(make_view: MakeView, checker: FakeChecker) -> CanvasView:
    """A canvas with images whose shapes are known."""
    checker.report = check(images(), catalogue())
    return make_view(images())


def search(view: CanvasView) -> SearchPalette:
    return view.overlays.search


def rows(palette: SearchPalette) -> list[str]:
    return [leaf.data() for leaf in palette.model.leaves()]


def suggestions(palette: SearchPalette) -> list[str]:
    heading = palette.model.group(palette.model.index(0, 0))
    assert heading is not None
    assert heading.title == "Suggested"
    return [kind.title for kind in heading.types]


def row_text(palette: SearchPalette) -> str:
    return palette.tree.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole)


def open_by_tab(user: MouseAndKeyboard, qtbot: QtBot) -> SearchPalette:
    user.key(Key.Key_Tab)
    palette = search(user.view)
    qtbot.waitUntil(palette.field.hasFocus)
    return palette


def wires(store: ProjectStore | ScopeStore) -> set[str]:
    return {str(each) for each in store.document.wires}


def overlap(a: Box, b: Box) -> bool:
    return a.left < b.right and b.left < a.right and a.top < b.bottom and b.top < a.bottom


# -- parameters


def test_words_set_parameters_in_one_undo_step(user: MouseAndKeyboard, store: ProjectStore, qtbot: QtBot) -> None:
    store.select(())
    before = store.document
    palette = open_by_tab(user, qtbot)
    user.type("conv 64 k3 s2 p1", palette.field)
    assert rows(palette)[0] == "Conv2d"
    assert row_text(palette) == "Conv2d: out_channels 64 · kernel_size 3 · stride 2 · padding 1"
    user.key(Key.Key_Return, target=palette.field)
    [name] = store.selection
    params = {"out_channels": 64, "kernel_size": 3, "stride": 2, "padding": 1}
    assert store.document.nodes[name].params == params
    store.undo()
    assert store.document is before


def test_words_that_are_not_understood_are_shown(user: MouseAndKeyboard, qtbot: QtBot) -> None:
    palette = open_by_tab(user, qtbot)
    user.type("linear 256 x9", palette.field)
    assert row_text(palette) == "Linear: out_features 256, not understood: x9"


@pytest.mark.parametrize(("text", "title"), [("linaer 10", "Linear"), ("batchnrom", "BatchNorm1d")])
def test_typing_errors_are_corrected(user: MouseAndKeyboard, qtbot: QtBot, text: str, title: str) -> None:
    palette = open_by_tab(user, qtbot)
    user.type(text, palette.field)
    assert rows(palette)[0] == title


# -- after the selected node


def test_a_new_node_is_wired_to_the_selected_one(user: MouseAndKeyboard, store: ProjectStore, qtbot: QtBot) -> None:
    user.click(user.node("adam"))
    palette = open_by_tab(user, qtbot)
    assert palette.field.placeholderText() == "Add after adam"
    assert suggestions(palette)[0] == "Cosine annealing"
    user.key(Key.Key_Return, target=palette.field)
    assert "adam.optimizer -> cosine_annealing.optimizer" in wires(store)


def test_what_usually_follows_comes_before_an_equal_key(user: MouseAndKeyboard, qtbot: QtBot) -> None:
    user.click(user.node("hidden"))
    palette = open_by_tab(user, qtbot)
    user.type("cross", palette.field)  # the key of Cross product
    assert rows(palette)[0] == "Cross entropy"


def test_a_new_node_goes_between_a_wired_node_and_what_follows(
    user: MouseAndKeyboard, store: ProjectStore, qtbot: QtBot
) -> None:
    before = store.document
    user.click(user.node("hidden"))
    palette = open_by_tab(user, qtbot)
    user.type("batchnorm1d", palette.field)
    user.key(Key.Key_Return, target=palette.field)
    assert {"hidden.output -> batch_norm1d.input", "batch_norm1d.output -> relu.input"} <= wires(store)
    assert "hidden.output -> relu.input" not in wires(store)
    nodes = store.document.nodes
    assert nodes["hidden"].at[0] < nodes["batch_norm1d"].at[0] < nodes["relu"].at[0]
    assert nodes["batch_norm1d"].at[1] == nodes["hidden"].at[1]
    store.undo()
    assert store.document is before


def test_a_node_without_output_branches_off(user: MouseAndKeyboard, store: ProjectStore, qtbot: QtBot) -> None:
    user.click(user.node("relu"))
    palette = open_by_tab(user, qtbot)
    user.type("accuracy", palette.field)
    user.key(Key.Key_Return, target=palette.field)
    assert {"relu.output -> accuracy.input", "relu.output -> loss.input"} <= wires(store)


def test_a_layer_after_a_loader_takes_its_inputs_not_its_targets(
    user: MouseAndKeyboard, store: ProjectStore, qtbot: QtBot
) -> None:
    user.click(user.node("batches"))
    palette = open_by_tab(user, qtbot)
    user.type("flatten", palette.field)
    user.key(Key.Key_Return, target=palette.field)
    assert {
        "batches.input -> flatten.input",
        "flatten.output -> hidden.input",
        "batches.target -> loss.target",
    } <= wires(store)


def test_a_chain_is_built_with_the_keyboard_alone(image_view: CanvasView, checker: FakeChecker, qtbot: QtBot) -> None:
    store, user = image_view.store, MouseAndKeyboard(image_view)
    checker.report = check(images(), catalogue())
    store.select(["batches"])
    palette = open_by_tab(user, qtbot)
    for text in ("conv 16 k3 p1", "batchnorm2d", "relu", "flatten", "linear 10"):
        user.type(text, palette.field)
        QTest.keyClick(palette.field, Key.Key_Return, SHIFT)
        assert palette.isVisible()
        assert palette.field.hasFocus()
        assert palette.field.text() == ""
    user.type("cross entropy", palette.field)
    user.key(Key.Key_Return, target=palette.field)
    assert not palette.isVisible()
    assert wires(store) == {
        "digits.samples -> batches.samples",
        "batches.input -> conv2d.input",
        "conv2d.output -> batch_norm2d.input",
        "batch_norm2d.output -> relu.input",
        "relu.output -> flatten.input",
        "flatten.output -> linear.input",
        "linear.output -> cross_entropy.input",
        "batches.target -> cross_entropy.target",
    }
    assert store.document.nodes["linear"].params == {"out_features": 10}
    boxes = list(image_view.canvas_scene.boxes().values())
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))


def test_a_node_at_the_pointer_overlaps_no_other(user: MouseAndKeyboard, store: ProjectStore, qtbot: QtBot) -> None:
    store.select(())
    user.move(user.node("relu"))
    palette = open_by_tab(user, qtbot)
    user.type("gelu", palette.field)
    user.key(Key.Key_Return, target=palette.field)
    boxes = user.view.canvas_scene.boxes()
    added = boxes.pop("gelu")
    assert added.top >= boxes["relu"].bottom
    assert not any(overlap(added, box) for box in boxes.values())


# -- a dropped wire


def drop_wire(user: MouseAndKeyboard, name: str, port: str, qtbot: QtBot) -> SearchPalette:
    start = user.port(name, "output", port)
    user.drag(start, start + user.at(60, 200) - user.at(0, 0))
    palette = search(user.view)
    qtbot.waitUntil(palette.field.hasFocus)
    return palette


def test_a_convolution_is_suggested_for_images(image_view: CanvasView, qtbot: QtBot) -> None:
    user = MouseAndKeyboard(image_view)
    palette = drop_wire(user, "batches", "input", qtbot)
    assert suggestions(palette)[0] == "Conv2d"
    user.type("pool", palette.field)
    assert rows(palette)[0] == "MaxPool2d"
    user.key(Key.Key_Return, target=palette.field)
    assert "batches.input -> max_pool2d.input" in wires(image_view.store)


def test_only_types_that_fit_the_wire_are_offered(user: MouseAndKeyboard, qtbot: QtBot) -> None:
    palette = drop_wire(user, "loss", "loss", qtbot)
    assert suggestions(palette)[0] == "Adam"
    kinds = [palette.model.kind(leaf) for leaf in palette.model.leaves()]
    assert all(kind is not None and any(port.type == "loss" for port in kind.inputs) for kind in kinds)


def test_a_wire_of_targets_goes_to_the_target(image_view: CanvasView, qtbot: QtBot) -> None:
    user = MouseAndKeyboard(image_view)
    palette = drop_wire(user, "batches", "target", qtbot)
    assert suggestions(palette)[0] == "Cross entropy"
    user.key(Key.Key_Return, target=palette.field)
    assert "batches.target -> cross_entropy.target" in wires(image_view.store)


def test_shift_enter_continues_after_a_dropped_wire(user: MouseAndKeyboard, store: ProjectStore, qtbot: QtBot) -> None:
    palette = drop_wire(user, "hidden", "output", qtbot)
    for text in ("gelu", "dropout 0.1"):
        user.type(text, palette.field)
        QTest.keyClick(palette.field, Key.Key_Return, SHIFT)
    user.key(Key.Key_Escape, target=palette.field)
    assert {"hidden.output -> gelu.input", "gelu.output -> dropout.input"} <= wires(store)
    assert store.document.nodes["dropout"].params == {"p": 0.1}
    assert "hidden.output -> relu.input" in wires(store)


@pytest.mark.parametrize(
    ("text", "wired"), [("cross entropy", True), ("accuracy", True), ("mean squared error", False), ("mse", False)]
)
def test_targets_are_connected_if_they_are_clear(image_view: CanvasView, qtbot: QtBot, text: str, wired: bool) -> None:
    user = MouseAndKeyboard(image_view)
    image_view.store.select(["batches"])
    palette = open_by_tab(user, qtbot)
    user.type("flatten", palette.field)
    QTest.keyClick(palette.field, Key.Key_Return, SHIFT)
    user.type(text, palette.field)
    user.key(Key.Key_Return, target=palette.field)
    [name] = image_view.store.selection
    assert (f"batches.target -> {name}.target" in wires(image_view.store)) == wired


# -- use


def test_used_types_are_suggested_and_rank_higher(user: MouseAndKeyboard, store: ProjectStore, qtbot: QtBot) -> None:
    store.select(())
    for _ in range(3):
        palette = open_by_tab(user, qtbot)
        user.type("conv1d", palette.field)
        user.key(Key.Key_Return, target=palette.field)
        store.select(())
    palette = open_by_tab(user, qtbot)
    assert suggestions(palette) == ["Conv1d"]
    user.type("conv", palette.field)
    assert rows(palette)[0] == "Conv1d"


def test_uses_are_kept_and_decay(settings: Settings) -> None:
    now = [0.0]
    usage = NodeUsage(settings, lambda: now[0])
    for key in ("nn.Linear", "nn.Linear", "nn.ReLU"):
        usage.record(key)
    assert list(NodeUsage(settings, lambda: now[0]).weights()) == ["nn.Linear", "nn.ReLU"]
    now[0] = 90 * 86_400.0
    later = NodeUsage(settings, lambda: now[0])
    assert later.weights()["nn.Linear"] == pytest.approx(0.25 / 2.25)
    later.record("nn.ReLU")
    assert list(later.weights()) == ["nn.ReLU", "nn.Linear"]


@pytest.mark.parametrize("text", ["[", "[1]", '{"a": 1}', '{"a": [NaN, 1]}', '{"a": [-1, 1]}', '{"a": ["x", 2]}'])
def test_damaged_counts_are_ignored(settings: Settings, text: str) -> None:
    settings.node_usage = text
    assert NodeUsage(settings).weights() == {}


# -- speed


def test_a_key_stroke_takes_bounded_work(make_view: MakeView, qtbot: QtBot) -> None:
    user = MouseAndKeyboard(make_view(network()))
    palette = open_by_tab(user, qtbot)
    assert len(PaletteOffers(user.view.store).types()) > 200
    work = [calls(lambda letter=letter: user.type(letter, palette.field)) for letter in "convolutoin 64 k3"]
    assert statistics.median(work) < 100_000  # of all letters, because the first ones fill caches
