"""Texts from files are shown as plain text, because HTML could make Qt load images from the network."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6 import QtGui
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from studio.ui.dialogs import confirm_overwrite, message, save_before_closing  # before the fixture replaces them
from studio.ui.widgets.labels import ElidedLabel

IMAGE = "<img src='//elsewhere/share/x.png'>"


def displayed_text(tooltip: str) -> str:
    """The text that a tooltip displays."""
    document = QTextDocument()
    if QtGui.Qt.mightBeRichText(tooltip):
        document.setHtml(tooltip)
    else:
        document.setPlainText(tooltip)
    return document.toPlainText()


@pytest.mark.parametrize("text", [IMAGE, f"a\n{IMAGE}", "<?xml?>", "1 < 2", "a & b", "two\nlines", "<b>x</b> &lt;", ""])
def test_tooltip_shows_html_as_text(qtbot: QtBot, text: str) -> None:
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.setText(text)
    assert displayed_text(label.toolTip()) == text


def test_dialogs_show_html_as_text(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes: list[QMessageBox] = []

    def exec(box: QMessageBox) -> None:
        boxes.append(box)

    monkeypatch.setattr(QMessageBox, "exec", exec)
    window = QWidget()
    qtbot.addWidget(window)
    message(window, IMAGE, IMAGE)
    save_before_closing(window, IMAGE, is_running=False)
    confirm_overwrite(window, Path(IMAGE))
    assert [box.textFormat() for box in boxes] == [Qt.TextFormat.PlainText] * 3
