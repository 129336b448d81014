"""Each source, split and transform of the catalogue, from the palette to its samples. A new one is tested by itself."""

from __future__ import annotations

import html
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document, Node
from studio.nodes.catalogue import catalogue
from studio.nodes.types import NodeType, Role
from studio.training.data.data_chain import DATA_ROLES
from studio.ui.palette import PalettePanel
from studio.ui.panels.data.data_panel import DataPanel
from studio.ui.window.main_window import MainWindow
from tests.studio.lowering.graphs import document
from tests.studio.lowering.test_every_type import PARAMS
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard
from tests.ui.data.conftest import click, is_filled

DATA = [kind for kind in catalogue() if kind.role in DATA_ROLES]

KINDS = {
    "Images": {"images"},
    "Tables": {"table"},
    "Text": {"text"},
    "Arrays": {"vectors"},
    "Synthetic": {"vectors", "series"},
}
"""What samples of a group of sources are shown as."""

VARIED = [kind for kind in DATA if kind.group == "Augmentation"]


def placed(kind: NodeType) -> Document:
    """A loader on the right; for what takes samples, digits as numbers from 0 to 1 on the left."""
    nodes: dict[str, str | Node] = {"batches": Node("data.Batches", at=(480.0, 0.0))}
    if kind.role is Role.LOADER:
        nodes = {}
    if kind.role is Role.SOURCE:
        return document(nodes)
    nodes |= {
        "digits": Node("data.Digits", at=(-480.0, 0.0)),
        "scale": Node("transforms.Normalize", {"std": 16.0}, at=(-240.0, 0.0)),
    }
    return document(nodes, ["digits.samples -> scale.samples"])


def added(qtbot: QtBot, window: MainWindow, kind: NodeType, files: Path) -> str:
    """Opens a project, finds the type in the palette by its title, and wires the new node to the loader."""
    project = window.open_projects.new(placed(kind), kind.title)
    store, view = project.store, window.canvas
    assert view is not None
    qtbot.waitUntil(lambda: store.is_checked)
    view.canvas_actions.fit_all(animated=False)
    user = MouseAndKeyboard(view)
    if kind.role is not Role.SOURCE:
        user.click(user.node("scale"))
    before = set(store.document.nodes)
    palette = window.project_views[project].panels["palette"]
    assert isinstance(palette, PalettePanel)
    palette.field.setFocus()
    QTest.keyClicks(palette.field, kind.title)
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    [name] = set(store.document.nodes) - before
    assert store.document.nodes[name].type == kind.key
    params = {
        key: str(files / value) if _is_path(kind, key) else value for key, value in PARAMS.get(kind.key, {}).items()
    }

    def set_all(changed: Document) -> Document:
        for key, value in params.items():
            changed = edits.set_param(changed, name, key, value)
        return changed

    store.edit("Set", set_all)
    if kind.role is not Role.LOADER:
        view.canvas_actions.fit_all(animated=False)
        user.drag(user.port(name, "output", "samples"), user.port("batches", "input", "samples"))
        assert any(wire.source.node == name and wire.target.node == "batches" for wire in store.document.wires)
    qtbot.waitUntil(lambda: store.is_checked)
    return name


def _is_path(kind: NodeType, key: str) -> bool:
    parameter = kind.param(key)
    return parameter is not None and parameter.kind == "path"


def looked_at(qtbot: QtBot, window: MainWindow, name: str) -> DataPanel:
    project = window.project
    assert project is not None
    project.store.select([name])
    window.docks["data"].reveal()
    panel = window.project_views[project].data
    qtbot.waitUntil(lambda: panel.header.title.text() == name and is_filled(panel))
    return panel


@pytest.mark.parametrize("kind", DATA, ids=lambda kind: kind.key)
def test_node_from_the_palette_shows_its_samples(qtbot: QtBot, window: MainWindow, files: Path, kind: NodeType) -> None:
    name = added(qtbot, window, kind, files)
    project, view = window.project, window.canvas
    assert project is not None and view is not None
    report = project.store.report

    assert [problem.message for problem in report.problems if problem.node == name] == []
    position = MouseAndKeyboard(view).node(name)
    QApplication.sendEvent(
        view.viewport(), QHelpEvent(QHelpEvent.Type.ToolTip, position, view.viewport().mapToGlobal(position))
    )
    assert html.escape(kind.summary) in QToolTip.text(), "help where the pointer is"
    panel = looked_at(qtbot, window, name)
    facts = panel._previewer.facts
    assert facts is not None
    if kind.role is Role.SOURCE:
        assert facts.kind in KINDS[kind.group]
        assert not facts.pairs
    samples = [panel.view.sample(index) for index in panel.view.in_view]
    for sample in samples:
        assert sample is not None and sample.problem == "" and sample.input is not None
    if kind.role is not Role.LOADER:
        [wire] = [wire for wire in report.wires if wire.source.node == name]
        assert report.wires[wire] == f"{facts.input} → {facts.target}", "the shape on the wire is that of the samples"
    if kind.role is Role.TRANSFORM:
        assert facts.pairs or facts.target_before is not None
        assert all(sample.before is not None or sample.target_before is not None for sample in samples if sample)
    click(panel.header.pages["statistics"])
    qtbot.waitUntil(panel.statistics.sheet.isVisible)


@pytest.mark.parametrize("kind", VARIED, ids=lambda kind: kind.key)
def test_redraw_changes_augmented_samples(qtbot: QtBot, window: MainWindow, files: Path, kind: NodeType) -> None:
    panel = looked_at(qtbot, window, added(qtbot, window, kind, files))
    assert panel.header.redraw.isVisible()
    first = [panel.view.sample(index) for index in panel.view.in_view]
    click(panel.header.redraw)
    qtbot.waitUntil(lambda: is_filled(panel) and panel.view.sample(0) is not first[0])
    again = [panel.view.sample(index) for index in panel.view.in_view]
    pairs = [(one.input, other.input) for one, other in zip(first, again, strict=True) if one and other]
    assert len(pairs) == len(first)
    assert not all(np.array_equal(one, other) for one, other in pairs)  # pyright: ignore[reportArgumentType]
