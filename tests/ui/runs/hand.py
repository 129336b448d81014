"""What tests of runs do again and again."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QTreeWidgetItem

from studio.document import edits
from studio.document.files.project_templates import template
from studio.document.model import Document
from studio.training.runs.run_history import Run
from studio.ui.panels.runs.runs_panel import RunsPanel

MakeRun = Callable[..., Path]
"""Trains as `Session` does, with its arguments, and gives the folder of the run."""


def digits(epochs: int = 2) -> Document:
    return edits.set_training(template("digits-mlp").document, epochs=epochs)


def values(run: Run, quantity: str = "loss") -> list[float]:
    curve = run.curve(quantity, "train")
    return [] if curve is None else curve.column.values.tolist()


def recorded(folder: Path) -> list[float]:
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if line["event"] == "step"]


def click(
    panel: RunsPanel, row: int, *, x: int = 60, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
) -> None:
    """At the row of the list, counted as it is sorted."""
    view = panel.list.view
    center = view.visualRect(view.model().index(row, 0)).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, held, QPoint(x, center.y()))


def names(panel: RunsPanel) -> list[str]:
    model = panel.list.view.model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def path_of(item: QTreeWidgetItem) -> str:
    """The names on the way to a row: hidden/out features."""
    parent = item.parent()
    is_below = parent is not None and parent.parent() is not None
    return f"{parent.text(0)}/{item.text(0)}" if parent is not None and is_below else item.text(0)


def rows(panel: RunsPanel) -> dict[str, list[str]]:
    """What the details tell, by name."""
    facts = panel.details.facts
    found: dict[str, list[str]] = {}

    def walk(item: QTreeWidgetItem) -> None:
        found[path_of(item)] = [item.text(column) for column in range(1, facts.columnCount())]
        for index in range(item.childCount()):
            child = item.child(index)
            assert child is not None
            walk(child)

    for index in range(facts.topLevelItemCount()):
        item = facts.topLevelItem(index)
        assert item is not None
        walk(item)
    return found


def press_in_menu(*titles: str) -> None:
    """By keys, in the menu that is open and the menus in it."""
    for title in titles:
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        for _ in menu.actions():
            QTest.keyClick(menu, Qt.Key.Key_Down)
            if (at := menu.activeAction()) is not None and at.text() == title:
                break
        at = menu.activeAction()
        assert at is not None and at.text() == title
        QTest.keyClick(menu, Qt.Key.Key_Right if at.menu() is not None else Qt.Key.Key_Return)


def choose_from_menu(panel: RunsPanel, name: str, *titles: str) -> None:
    """By keys: open the menu of a run, and choose an action, in a menu within it."""
    view = panel.list.view
    model = view.model()
    [index] = [found for row in range(model.rowCount()) if (found := model.index(row, 0)).data() == name]
    view.setCurrentIndex(index)
    view.setFocus()
    center = view.visualRect(index).center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, center, view.viewport().mapToGlobal(center))
    QTimer.singleShot(0, lambda: press_in_menu(*titles))
    QApplication.sendEvent(view.viewport(), event)


class Gate:
    """Work that is half done until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()
        original = getattr(module, name)

        def held(*what: Any) -> Any:
            self.reached.set()
            assert self.opened.wait(100)
            return original(*what)

        monkeypatch.setattr(module, name, held)


def press(panel: RunsPanel, button: Any) -> None:
    QApplication.processEvents()  # lay out widgets that were just shown
    assert button.isVisible() and button.isEnabled() and button.width() > 16
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    QApplication.processEvents()
