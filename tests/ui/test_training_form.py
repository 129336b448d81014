"""The training settings in the inspector."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QComboBox
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import TrainingSettings
from studio.ui.panels.inspector.parameter_row import ParameterRow
from studio.ui.panels.inspector.project_form import ProjectForm
from studio.ui.panels.inspector.text_fields import TypedField
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow


def row(window: MainWindow, project: Project, name: str) -> ParameterRow:
    project.store.select([])
    form = window.project_views[project].inspector.form
    assert isinstance(form, ProjectForm)
    return form.rows[name]


def type_text(row: ParameterRow, text: str) -> None:
    assert isinstance(row.field, TypedField)
    row.field.line.setFocus()
    row.field.line.selectAll()
    QTest.keyClicks(row.field.line, text)
    QTest.keyClick(row.field.line, Qt.Key.Key_Return)


def test_settings_fit_the_default_width(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    inspector = window.project_views[project].inspector
    qtbot.waitUntil(inspector.isVisible)
    assert inspector.form.minimumSizeHint().width() <= inspector.viewport().width() <= 308


def test_every_setting_has_a_field(window: MainWindow, project: Project) -> None:
    project.store.select([])
    form = window.project_views[project].inspector.form
    assert isinstance(form, ProjectForm)
    assert set(TrainingSettings.__struct_fields__) <= form.rows.keys()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("accumulate", "4", 4),
        ("clip_norm", "1", 1.0),
        ("validate_steps", "20", 20),
        ("patience", "0", 0),
        ("min_change", "0.01", 0.01),
    ],
)
def test_type_and_undo_a_number(window: MainWindow, project: Project, name: str, text: str, value: Any) -> None:
    before = project.store.document.training
    type_text(row(window, project, name), text)
    assert getattr(project.store.document.training, name) == value
    project.store.undo()
    assert project.store.document.training == before


def test_none_is_entered_as_text_or_empty_field(window: MainWindow, project: Project) -> None:
    for text in ("none", ""):
        project.store.edit("Set patience", lambda document: edits.set_training(document, patience=3))
        patience = row(window, project, "patience")
        type_text(patience, text)
        if not text:
            assert isinstance(patience.field, TypedField)
            QTest.keyClick(patience.field.line, Qt.Key.Key_Delete)
        assert project.store.document.training.patience is None


def test_out_of_bounds_value_shows_a_message(window: MainWindow, project: Project) -> None:
    wrong = row(window, project, "clip_norm")
    type_text(wrong, "0")
    assert project.store.document.training.clip_norm is None
    assert "> 0" in wrong._problem.text()


def test_monitored_metric_is_chosen_from_the_available_ones(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    combo = row(window, project, "follow").field.editor
    assert isinstance(combo, QComboBox)
    offered = [combo.itemText(index) for index in range(combo.count())]
    assert offered == ["val_loss", "val_accuracy", "train_loss", "train_accuracy"]
    combo.setFocus()
    QTest.keyClick(combo, Qt.Key.Key_Down)
    assert project.store.document.training.follow == "val_accuracy"
    project.store.edit("Rename", lambda document: edits.rename(document, "accuracy", "hits"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    combo = row(window, project, "follow").field.editor
    assert isinstance(combo, QComboBox)
    assert [combo.itemText(index) for index in range(combo.count())][1] == "val_hits"
    assert project.store.document.training.follow == "val_hits"
    assert project.store.report.problems == ()


def test_compile_switch(window: MainWindow, project: Project) -> None:
    box = row(window, project, "compile").field.editor
    assert isinstance(box, QCheckBox)
    QTest.keyClick(box, Qt.Key.Key_Space)
    assert not project.store.document.training.compile
    project.store.undo()
    assert box.isChecked()
