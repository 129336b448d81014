"""Every widget that a keyboard or a screen reader reaches has a name."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QKeySequenceEdit,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QScrollBar,
    QTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from studio.ui.window.settings_dialog import SettingsDialog

CONTROLS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QKeySequenceEdit,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
)


def unnamed(window: QWidget) -> list[str]:
    """Controls without accessible name, text or label, by their path of classes."""
    labeled = {label.buddy() for label in window.findChildren(QLabel)}
    found: list[str] = []
    for widget in window.findChildren(QWidget):
        if not isinstance(widget, CONTROLS) or widget.focusPolicy() == Qt.FocusPolicy.NoFocus:
            continue
        if isinstance(widget, QScrollBar) or _is_part(widget):
            continue
        text = widget.text() if isinstance(widget, QAbstractButton) else ""
        if not (widget.accessibleName() or text or widget in labeled):
            found.append(_path(widget))
    return sorted(set(found))


def _is_part(widget: QWidget) -> bool:
    """Whether a widget is a part of another control, such as the field of a spin box."""
    around = widget.parentWidget()
    while around is not None and not isinstance(around, (QAbstractSpinBox, QComboBox, QKeySequenceEdit)):
        around = around.parentWidget()
    return around is not None


def _path(widget: QWidget | None) -> str:
    names: list[str] = []
    while widget is not None:
        names.append(type(widget).__name__ + (f"#{widget.objectName()}" if widget.objectName() else ""))
        widget = widget.parentWidget()
    return " < ".join(names[:6])


def test_all_controls_of_the_window_have_names(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    found: list[str] = []
    for selection in ([], ["hidden"], ["adam"], ["batches"], ["hidden", "relu"]):
        project.store.select(selection)
        qtbot.wait(50)
        found += unnamed(window)
    for dock in window.docks:
        dock.reveal()
        qtbot.wait(10)
        found += unnamed(dock)
    assert not found, "\n".join(sorted(set(found)))


def test_all_controls_of_the_settings_have_names(window: MainWindow) -> None:
    window.open_settings()
    [dialog] = window.findChildren(SettingsDialog)
    found = unnamed(dialog)
    assert not found, "\n".join(found)
    dialog.close()
