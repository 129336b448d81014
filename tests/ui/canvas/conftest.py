"""A canvas in a window with a fake checker, so that tests choose the check report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QMainWindow
from pytestqt.qtbot import QtBot

from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.canvas_commands import canvas_commands
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.command_registry import CommandRegistry
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme import motion
from studio.ui.theme.theme import ThemeManager
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard

MakeView = Callable[[Document], CanvasView]


def wire(text: str) -> Wire:
    """A wire from its text in files, such as "a.output -> b.input"."""
    source, target = (end.split(".") for end in text.split(" -> "))
    return Wire(Endpoint(*source), Endpoint(*target))


def network() -> Document:
    """A short network in one row that has all port types."""
    nodes = {
        "digits": Node("data.Digits", at=(0, 0)),
        "batches": Node("data.Batches", at=(200, 0)),
        "hidden": Node("nn.Linear", {"out_features": 32}, at=(440, 0)),
        "relu": Node("nn.ReLU", at=(640, 0)),
        "loss": Node("nn.CrossEntropyLoss", at=(840, 0)),
        "adam": Node("optim.Adam", at=(1080, 0)),
    }
    wires = [
        "batches.input -> hidden.input",
        "batches.target -> loss.target",
        "digits.samples -> batches.samples",
        "hidden.output -> relu.input",
        "loss.loss -> adam.loss",
        "relu.output -> loss.input",
    ]
    return Document(nodes, tuple(sorted(map(wire, wires))))


class FakeChecker:
    """Returns the same report for every document."""

    def __init__(self) -> None:
        self.report = Report()

    def __call__(self, document: Document, base: Path | None) -> Report:
        return self.report


def delete_store(store: ProjectStore) -> None:
    """Delete a store now; the garbage collector could otherwise delete it in the thread of another store's check."""
    store.close()
    shiboken6.delete(store)


@pytest.fixture
def checker() -> FakeChecker:
    return FakeChecker()


@pytest.fixture
def themes(qtbot: QtBot) -> ThemeManager:
    return ThemeManager("dark")


@pytest.fixture
def make_view(qtbot: QtBot, checker: FakeChecker, themes: ThemeManager) -> Iterator[MakeView]:
    """Creates views of documents at 100% zoom, centered at (600, 100), without animations."""
    motion.set_reduced(True)
    views: list[tuple[CanvasView, QMainWindow]] = []

    def make(document: Document) -> CanvasView:
        window = QMainWindow()
        store = ProjectStore(document, catalogue(), checker)
        view = CanvasView(ScopeStore(store), themes)
        views.append((view, window))
        commands = CommandRegistry(window)
        commands.add(*canvas_commands(lambda: view, view))
        store.selection_changed.connect(commands.refresh)
        view.find_action = lambda id: commands.current_action(id) if id in commands else None
        window.setCentralWidget(view)
        window.resize(1280, 640)
        window.show()
        window.activateWindow()
        view.setFocus()
        view.camera.zoom_to(1.0)
        view.camera.center_on(QPointF(600, 100))
        qtbot.waitUntil(lambda: store.is_checked and view.hasFocus())
        return view

    yield make
    motion.set_reduced(False)
    for view, window in views:
        store = view.store.project
        view.close_view()
        window.close()
        shiboken6.delete(window)
        delete_store(store)


@pytest.fixture
def view(make_view: MakeView) -> CanvasView:
    return make_view(network())


@pytest.fixture
def store(view: CanvasView) -> ProjectStore:
    return view.store.project


@pytest.fixture
def user(view: CanvasView) -> MouseAndKeyboard:
    return MouseAndKeyboard(view)
