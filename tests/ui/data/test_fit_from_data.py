"""Arguments learned from data by a click in the inspector."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.files.project_format import dumps, loads
from studio.document.model import Document
from studio.nodes.catalogue import catalogue
from studio.training.data import transform_fitting
from studio.ui.panels.inspector.fit_from_data import FitFromDataRow
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.project import transform_fitter as fitter_module
from studio.ui.project.project_store import ProjectStore
from studio.ui.window.main_window import MainWindow
from tests.studio.training.data_documents import arrays, chained
from tests.ui.canvas.mouse_and_keyboard import CTRL, MouseAndKeyboard
from tests.ui.data.conftest import click

NORMALIZE = chained("data.Digits", "transforms.Normalize")


@pytest.fixture
def chosen(qtbot: QtBot, window: MainWindow) -> Callable[[Document], FitFromDataRow]:
    """The row of node b, clicked at on the canvas."""

    def choose(document: Document) -> FitFromDataRow:
        project = window.open_projects.new(document)
        qtbot.waitUntil(lambda: project.store.is_checked)
        assert window.canvas is not None
        user = MouseAndKeyboard(window.canvas)
        window.canvas.canvas_actions.fit_all(animated=False)
        user.click(user.node("b"))
        return row(window)

    return choose


def row(window: MainWindow) -> FitFromDataRow:
    [found] = form(window).offers
    assert isinstance(found, FitFromDataRow)
    return found


def form(window: MainWindow) -> NodeForm:
    assert window.project is not None
    found = window.project_views[window.project].inspector.form
    assert isinstance(found, NodeForm)
    return found


def store(window: MainWindow) -> ProjectStore:
    assert window.project is not None
    return window.project.store


def test_compute_from_data_is_one_undo_step(
    qtbot: QtBot, window: MainWindow, chosen: Callable[[Document], FitFromDataRow]
) -> None:
    fit_from_data_row = chosen(NORMALIZE)
    click(fit_from_data_row.button)
    qtbot.waitUntil(lambda: "mean" in store(window).document.nodes["b"].params)
    params = store(window).document.nodes["b"].params
    assert params["mean"] == pytest.approx(4.885, abs=0.01)
    assert params["std"] == pytest.approx(6.02, abs=0.01)
    assert fit_from_data_row.summary.text() == "Computed from 1,438 training samples of a."
    assert fit_from_data_row.button.isVisible()
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert store(window).document.nodes["b"].params == {}
    assert not fit_from_data_row.summary.isVisible()
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL | Qt.KeyboardModifier.ShiftModifier)
    assert fit_from_data_row.summary.isVisible()
    std = next(each for each in form(window).rows if each.parameter.name == "std")
    std.field.editor.setFocus()
    QTest.keyClicks(std.field.editor, "3")
    assert store(window).document.nodes["b"].fitted is None
    assert not fit_from_data_row.summary.isVisible(), "values that are typed have no record"


def test_a_project_that_is_opened_says_what_parameters_were_computed_from(
    chosen: Callable[[Document], FitFromDataRow],
) -> None:
    document = transform_fitting.fit_arguments(NORMALIZE, catalogue(), "b").applied(NORMALIZE)
    assert chosen(loads(dumps(document))).summary.text() == "Computed from 1,438 training samples of a."


def test_only_fitted_transforms_offer_compute_from_data(window: MainWindow, qtbot: QtBot) -> None:
    project = window.open_projects.new(chained("data.Digits", "transforms.Clip"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    for name in ("a", "b"):
        project.store.select([name])
        form = window.project_views[project].inspector.form
        assert isinstance(form, NodeForm)
        assert form.offers == []


def test_failed_fit_shows_its_error(qtbot: QtBot, tmp_path: Path, chosen: Callable[[Document], FitFromDataRow]) -> None:
    source = arrays(tmp_path, np.full((20, 2), np.nan), np.arange(20) % 2)
    fit_from_data_row = chosen(chained(source, "transforms.Normalize"))
    click(fit_from_data_row.button)
    qtbot.waitUntil(fit_from_data_row.problem.isVisible)
    assert "has only missing values" in fit_from_data_row.problem.text()


def test_cancel_a_fit_and_keep_edits_made_meanwhile(
    qtbot: QtBot, window: MainWindow, chosen: Callable[[Document], FitFromDataRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    def slow(*arguments: object, **named: object) -> transform_fitting.FittedArguments:
        go.wait()
        return transform_fitting.fit_arguments(*arguments, **named)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(fitter_module, "fit_arguments", slow)
    fit_from_data_row = chosen(NORMALIZE)
    click(fit_from_data_row.button)
    assert fit_from_data_row.bar.isVisible()
    click(fit_from_data_row.cancel)
    assert fit_from_data_row.button.isVisible()
    click(fit_from_data_row.button)
    store(window).edit("Change the data", lambda document: edits.set_param(document, "a", "validation", 0.5))
    go.set()
    qtbot.waitUntil(fit_from_data_row.problem.isVisible)
    assert "changed while its parameters were computed" in fit_from_data_row.problem.text()
    assert store(window).document.nodes["b"].params == {}


def test_fit_of_a_deleted_node_changes_nothing(
    qtbot: QtBot, window: MainWindow, chosen: Callable[[Document], FitFromDataRow]
) -> None:
    fit_from_data_row = chosen(NORMALIZE)
    fitter = window.project_views[window.project].fitter  # pyright: ignore[reportArgumentType]
    fitter.start("b")
    store(window).edit("Remove", lambda document: edits.remove(document, ["b"]))
    qtbot.waitUntil(lambda: fitter.node is None)
    assert fit_from_data_row is not None
    assert set(store(window).document.nodes) == {"a"}
