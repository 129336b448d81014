"""The questions that the window asks. Each says what happened, what it means, and what can be done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFileDialog, QGridLayout, QMessageBox, QSpacerItem, QWidget

from studio.document.format import SUFFIX
from studio.ui.theme import icons

_PICTURES = {
    QMessageBox.Icon.Warning: ("warning", "warning"),
    QMessageBox.Icon.Question: ("info", "accent"),
    QMessageBox.Icon.Information: ("app", "accent"),
}
_NARROWEST = 420
"""Pixels: paths in a box as narrow as Qt makes it are broken after each folder."""
Answer: TypeAlias = Literal["save", "discard", "cancel"]
FILTER = f"Gradwire projects (*{SUFFIX});;All files (*)"


def message(parent: QWidget | None, text: str, detail: str = "", *, traceback: str = "") -> None:
    """Say that something did not work."""
    box = _box(QMessageBox.Icon.Warning, text, parent)
    box.setStandardButtons(QMessageBox.StandardButton.Ok)
    box.setInformativeText(detail)
    if traceback:
        box.setDetailedText(traceback)
    _ask(box)


def about(parent: QWidget, version: str) -> None:
    """Say what this program is."""
    box = _box(QMessageBox.Icon.Information, f"Gradwire {version}", parent)
    box.setInformativeText("A studio for neural networks on an engine of its own. MIT licence.")
    box.setStandardButtons(QMessageBox.StandardButton.Ok)
    _ask(box)


def _ask(box: QMessageBox) -> None:
    """Widen the box and wait for an answer."""
    grid = box.layout()
    assert isinstance(grid, QGridLayout)
    grid.addItem(QSpacerItem(_NARROWEST, 0), grid.rowCount(), 0, 1, grid.columnCount())
    box.exec()


def _box(icon: QMessageBox.Icon, text: str, parent: QWidget | None) -> QMessageBox:
    """Of plain text: names of files and messages may hold what looks like HTML."""
    box = QMessageBox(icon, "Gradwire", "", parent=parent)
    name, token = _PICTURES[icon]
    box.setIconPixmap(icons.themed(name, token).pixmap(QSize(32, 32), box.devicePixelRatioF()))
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(text)
    return box


def save_before_closing(parent: QWidget, name: str, *, is_running: bool, runs: int = 0) -> Answer:
    """What to do with unsaved changes, and with so many runs that go with them."""
    box = _box(QMessageBox.Icon.Question, f"Save the changes to {name}?", parent)
    stops = " The run under way will be stopped." if is_running else ""
    lost = {0: "They are lost", 1: "They and one run are lost"}.get(runs, f"They and {runs} runs are lost")
    box.setInformativeText(f"{lost} if you do not save them.{stops}")
    return _answer(box, "Save", "Discard")


def save_before_quitting(parent: QWidget, names: Sequence[str], *, is_running: bool, runs: int = 0) -> Answer:
    """What to do with several projects that have unsaved changes, and with so many runs that go with them."""
    box = _box(QMessageBox.Icon.Question, f"Save {len(names)} projects before quitting?", parent)
    stops = "\n\nThe run under way will be stopped." if is_running else ""
    lost = {0: "", 1: " and one run"}.get(runs, f" and {runs} runs")
    listed = "\n".join(f"•  {name}" for name in names)
    box.setInformativeText(f"{listed}\n\nUnsaved changes{lost} are lost if you discard them.{stops}")
    return _answer(box, "Save all", "Discard all")


def _answer(box: QMessageBox, save_title: str, discard_title: str) -> Answer:
    save = box.addButton(save_title, QMessageBox.ButtonRole.AcceptRole)
    discard = box.addButton(discard_title, QMessageBox.ButtonRole.DestructiveRole)
    box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(save)
    _ask(box)
    if box.clickedButton() is save:
        return "save"
    return "discard" if box.clickedButton() is discard else "cancel"


def overwrite_foreign_change(parent: QWidget, path: Path) -> bool:
    """Whether to save over what somebody else wrote meanwhile."""
    box = _box(QMessageBox.Icon.Question, f"{path.name} was changed by another program.", parent)
    box.setInformativeText("Saving replaces what it wrote by your version.")
    replace = box.addButton("Replace", QMessageBox.ButtonRole.AcceptRole)
    box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole)
    _ask(box)
    return box.clickedButton() is replace


def paths_to_open(parent: QWidget, folder: Path | None) -> list[Path]:
    paths, _ = QFileDialog.getOpenFileNames(parent, "Open", str(folder or ""), FILTER)
    return [Path(path) for path in paths]


def path_to_save(parent: QWidget, suggestion: Path) -> Path | None:
    """A path with the project suffix, or None if the person thought better of it."""
    path, _ = QFileDialog.getSaveFileName(parent, "Save as", str(suggestion), FILTER)
    if not path:
        return None
    chosen = Path(path)
    return chosen if chosen.suffix else chosen.with_suffix(SUFFIX)
