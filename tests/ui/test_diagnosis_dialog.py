"""The dialog that finds out why a loss does not fall."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document
from studio.training.experiments.diagnosis_run import EXPERIMENTS
from studio.training.experiments.experiment import Bars, Curves, Series
from studio.ui import dialogs
from studio.ui.project.project import Project
from studio.ui.theme import theme
from studio.ui.theme.theme import Mode
from studio.ui.trials.diagnosis_dialog import DiagnosisDialog
from studio.ui.trials.experiment_plot import ExperimentPlot
from studio.ui.window.main_window import MainWindow
from studio.ui.window.notification_bar import NotificationBar

PATIENCE_MS = 60_000


def opened(qtbot: QtBot, window: MainWindow, project: Project, *, rate: float | None = None) -> DiagnosisDialog:
    """The dialog, opened with its shortcut."""
    if rate is not None:
        project.store.edit("Set lr", lambda document: edits.set_param(document, "adam", "lr", rate))
        qtbot.waitUntil(lambda: project.store.is_checked)
    assert window.canvas is not None
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    dialog = window.project_views[project].trial
    assert isinstance(dialog, DiagnosisDialog)
    return dialog


def finished(qtbot: QtBot, dialog: DiagnosisDialog) -> None:
    qtbot.waitUntil(lambda: dialog.conclusion is not None and dialog.progress.isHidden(), timeout=PATIENCE_MS)


def fix_button(dialog: DiagnosisDialog) -> QPushButton:
    return next(each for each in dialog.findChildren(QPushButton) if each.property("kind") == "primary")


def test_the_fix_of_the_cause_is_applied_and_undone(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog = opened(qtbot, window, project, rate=1e-7)
    before = project.store.document
    qtbot.waitUntil(lambda: "of 9: " in dialog.verdict.text(), timeout=PATIENCE_MS)
    finished(qtbot, dialog)
    assert dialog.verdict.text().startswith("Most probable cause at adam: ")
    assert "1e-07" in dialog.verdict.text() and dialog.view.list.currentItem().text() == "Learning-rate sweep"
    report = tmp_path / "why.md"
    monkeypatch.setattr(dialogs, "report_to_save", lambda *_: report)
    export = next(each for each in dialog.findChildren(QPushButton) if each.text() == "Export report…")
    QTest.mouseClick(export, Qt.MouseButton.LeftButton)
    assert "<svg" in report.read_text("utf-8") and dialog.note.text() == "Saved why.md"
    fix = fix_button(dialog)
    assert fix.text().startswith("Set lr to ")
    middle = QPointF(fix.rect().center())
    QApplication.sendEvent(fix, QEnterEvent(middle, middle, QPointF(fix.mapToGlobal(middle.toPoint()))))
    assert project.store.fix_previewer.fix is not None
    QTest.mouseClick(fix, Qt.MouseButton.LeftButton)
    rate = project.store.document.nodes["adam"].params["lr"]
    assert isinstance(rate, float) and rate > 1e-5
    qtbot.waitUntil(lambda: window.project_views[project].trial is None)
    project.store.undo()
    assert project.store.document is before


def test_experiments_are_selected_with_mouse_and_keys(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    dialog = opened(qtbot, window, project)
    view = dialog.view
    qtbot.waitUntil(lambda: "overfit" in view.outcomes, timeout=PATIENCE_MS)
    item = view.list.item(3)
    at = view.list.visualItemRect(item).center()
    QTest.mouseClick(view.list.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(at.x(), at.y()))
    assert view.question.text() == EXPERIMENTS[3].question and isinstance(view.plot.picture, Bars)
    QTest.keyClick(view.list, Qt.Key.Key_Down)
    assert view.question.text() == EXPERIMENTS[4].question and isinstance(view.plot.picture, Curves)
    assert view.summary.text().startswith("Passed. After ")
    finished(qtbot, dialog)
    assert view.list.currentRow() == 4, "the selection of the user stays"
    names = [view.list.item(row).data(Qt.ItemDataRole.AccessibleTextRole) for row in range(view.list.count())]
    assert all(": " in name and not name.endswith("Waiting") for name in names)
    [export] = [each for each in dialog.findChildren(QPushButton) if each.text() == "Export report…"]
    qtbot.waitUntil(export.isVisible)
    dialog.close()


def test_escape_cancels(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    dialog = opened(qtbot, window, project)
    task = dialog._task
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: window.project_views[project].trial is None)
    assert not task.is_running


def test_a_flat_run_offers_the_diagnosis(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    def flat(document: Document) -> Document:
        document = edits.set_param(document, "adam", "lr", 1e-9)
        return edits.set_training(document, epochs=4, compile=False)

    project.store.edit("Set lr", flat)
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.start_run()
    qtbot.waitUntil(lambda: project.runner.state == "done", timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: bool(window.findChildren(NotificationBar)))
    [bar] = window.findChildren(NotificationBar)
    assert "The loss of Run 1 " in bar.text.text()
    QTest.mouseClick(bar.choices[0], Qt.MouseButton.LeftButton)
    dialog = window.project_views[project].trial
    assert isinstance(dialog, DiagnosisDialog)
    dialog.close()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_pictures_are_drawn_in_both_themes(qtbot: QtBot, mode: Mode) -> None:
    theme.manager().set_mode(mode)
    host = QWidget()  # pyqtgraph does not draw a plot again after it was closed
    qtbot.addWidget(host)
    plot = ExperimentPlot(host)
    plot.resize(400, 240)
    host.show()
    nan = float("nan")
    for picture in (
        Curves("Steps", "Loss", (Series("real", (1.0, 2.0, 3.0), (2.0, nan, 1.0)), Series("zero", (1.0,), (2.0,)))),
        Bars("Gradient", ("a", "b", "c"), (1e-3, 0.0, nan), is_log=True),
        Bars("Targets", ("0", "1"), (3.0, 5.0)),
        Curves("Steps", "Loss", ()),
    ):
        plot.show_picture(picture)
        QApplication.processEvents()
        image = plot.grab().toImage()
        assert image.pixelColor(2, 2).name() == theme.current().color("surface").name()
    theme.manager().set_mode("light")


def test_ticks_of_a_picture_are_its_values_after_a_smaller_one(qtbot: QtBot) -> None:
    host = QWidget()
    qtbot.addWidget(host)
    plot = ExperimentPlot(host)
    host.show()
    plot.show_picture(Bars("Share", ("a", "b"), (0.2, 0.4)))
    QApplication.processEvents()
    plot.show_picture(Bars("Number of targets", ("0", "1"), (30.0, 50.0)))
    QApplication.processEvents()
    assert plot.getAxis("bottom").autoSIPrefixScale == 1


def test_text_without_a_picture_begins_at_the_top(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    dialog = opened(qtbot, window, project)
    view = dialog.view
    qtbot.waitUntil(lambda: "check" in view.outcomes, timeout=PATIENCE_MS)
    item = view.list.item(0)
    QTest.mouseClick(view.list.viewport(), Qt.MouseButton.LeftButton, pos=view.list.visualItemRect(item).center())
    qtbot.waitUntil(lambda: view.plot.isHidden() and view.summary.y() < view.question.geometry().bottom() + 30)
    dialog.close()
