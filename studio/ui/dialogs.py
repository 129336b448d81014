"""Message boxes and file dialogs. Each states what happened, the consequence and the choices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFileDialog, QGridLayout, QInputDialog, QListView, QMessageBox, QSpacerItem, QWidget

from engine.export.artifact_records import ARTIFACT_SUFFIX
from studio.document import LESSON_SUFFIX, SUFFIX
from studio.ui import number_format
from studio.ui.theme import icons

_ICONS = {
    QMessageBox.Icon.Warning: ("warning", "warning"),
    QMessageBox.Icon.Question: ("info", "accent"),
    QMessageBox.Icon.Information: ("app", "accent"),
}
_MIN_WIDTH = 420
"""Minimum width in pixels, so that long paths are not broken after each folder."""
Answer: TypeAlias = Literal["save", "discard", "cancel"]
FILTER = f"Gradwire projects (*{SUFFIX});;All files (*)"
OPEN_FILTER = f"Gradwire projects and lessons (*{SUFFIX} *{LESSON_SUFFIX});;All files (*)"

DATA_FILTER = (
    "Data files (*.csv *.tsv *.tab *.data *.dat *.txt *.parquet *.pq *.jsonl *.ndjson *.json *.npy *.npz *.tar *.md);;"
    "All files (*)"
)


def message(parent: QWidget | None, text: str, detail: str = "", *, traceback: str = "") -> None:
    """Show an error message."""
    box = _box(QMessageBox.Icon.Warning, text, parent)
    box.setStandardButtons(QMessageBox.StandardButton.Ok)
    box.setInformativeText(detail)
    if traceback:
        box.setDetailedText(traceback)
    _ask(box)


def about(parent: QWidget, version: str) -> None:
    """Show the About dialog."""
    box = _box(QMessageBox.Icon.Information, f"Gradwire {version}", parent)
    box.setInformativeText("A desktop studio for neural networks with a built-in deep-learning engine. MIT license.")
    box.setStandardButtons(QMessageBox.StandardButton.Ok)
    _ask(box)


def _ask(box: QMessageBox) -> None:
    """Set a minimum width and run the box."""
    grid = box.layout()
    assert isinstance(grid, QGridLayout)
    grid.addItem(QSpacerItem(_MIN_WIDTH, 0), grid.rowCount(), 0, 1, grid.columnCount())
    box.exec()


def _box(icon: QMessageBox.Icon, text: str, parent: QWidget | None) -> QMessageBox:
    """A message box with plain text, because file names and messages may contain HTML."""
    box = QMessageBox(icon, "Gradwire", "", parent=parent)
    name, token = _ICONS[icon]
    box.setIconPixmap(icons.themed(name, token).pixmap(QSize(32, 32), box.devicePixelRatioF()))
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(text)
    return box


def save_before_closing(parent: QWidget, name: str, *, is_running: bool, runs: int = 0) -> Answer:
    """Ask what to do with unsaved changes, and with `runs` runs that only exist while the project is unsaved."""
    box = _box(QMessageBox.Icon.Question, f"Save changes to {name}?", parent)
    stops = " The current run will be stopped." if is_running else ""
    box.setInformativeText(f"Unsaved changes{_lost_runs(runs)} will be lost if you don't save.{stops}")
    return _answer(box, "Save", "Don't save")


def save_before_quitting(parent: QWidget, names: Sequence[str], *, is_running: bool, runs: int = 0) -> Answer:
    """Ask what to do with several projects that have unsaved changes, and with `runs` runs that would be lost."""
    box = _box(QMessageBox.Icon.Question, f"Save changes to {len(names)} projects?", parent)
    stops = " The current run will be stopped." if is_running else ""
    listed = "\n".join(f"•\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}{name}" for name in names)
    box.setInformativeText(f"{listed}\n\nUnsaved changes{_lost_runs(runs)} will be lost if you don't save.{stops}")
    return _answer(box, "Save all", "Discard all")


def _lost_runs(runs: int) -> str:
    return f" and {number_format.count(runs, 'runs')}" if runs else ""


def _answer(box: QMessageBox, save_title: str, discard_title: str) -> Answer:
    save = box.addButton(save_title, QMessageBox.ButtonRole.AcceptRole)
    discard = box.addButton(discard_title, QMessageBox.ButtonRole.DestructiveRole)
    box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(save)
    _ask(box)
    if box.clickedButton() is save:
        return "save"
    return "discard" if box.clickedButton() is discard else "cancel"


def confirm_stop(parent: QWidget, names: Sequence[str]) -> bool:
    """Ask before closing projects stops their runs."""
    box = _box(QMessageBox.Icon.Question, f"Stop training {' and '.join(names)}?", parent)
    box.setInformativeText("Closing stops the run. You can resume it from its last checkpoint.")
    stop = box.addButton("Stop and close", QMessageBox.ButtonRole.AcceptRole)
    box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole)
    _ask(box)
    return box.clickedButton() is stop


def confirm_new_start(parent: QWidget, title: str, reason: str) -> bool:
    """Ask whether to start a lesson again whose project cannot be opened."""
    box = _box(QMessageBox.Icon.Warning, f"Your project of the lesson {title} cannot be opened.", parent)
    box.setInformativeText(f"{reason}\n\nStarting again replaces it with the start project, and removes its runs.")
    again = box.addButton("Start again", QMessageBox.ButtonRole.AcceptRole)
    box.setDefaultButton(box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole))  # Enter removes nothing
    _ask(box)
    return box.clickedButton() is again


def confirm_overwrite(parent: QWidget, path: Path) -> bool:
    """Ask before overwriting a file that another program has changed."""
    box = _box(QMessageBox.Icon.Question, f"{path.name} was changed on disk by another program.", parent)
    box.setInformativeText("Saving overwrites those changes.")
    replace = box.addButton("Overwrite", QMessageBox.ButtonRole.AcceptRole)
    box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole)
    _ask(box)
    return box.clickedButton() is replace


def paths_to_open(parent: QWidget, folder: Path | None) -> list[Path]:
    paths, _ = QFileDialog.getOpenFileNames(parent, "Open", str(folder or ""), OPEN_FILTER)
    return [Path(path) for path in paths]


def path_to_compare(parent: QWidget, folder: Path | None) -> Path | None:
    """Ask for a project file to compare with; None if the user cancels."""
    path, _ = QFileDialog.getOpenFileName(parent, "Compare with", str(folder or ""), FILTER)
    return Path(path) if path else None


def data_files_to_import(parent: QWidget, folder: Path | None) -> list[Path]:
    paths, _ = QFileDialog.getOpenFileNames(parent, "Import data", str(folder or ""), DATA_FILTER)
    return [Path(path) for path in paths]


def folder_to_import(parent: QWidget, folder: Path | None) -> Path | None:
    """Ask for a folder of data; None if the user cancels."""
    path = QFileDialog.getExistingDirectory(parent, "Import folder", str(folder or ""))
    return Path(path) if path else None


def folder_to_export(parent: QWidget, folder: Path) -> Path | None:
    """Ask for the folder of an exported package; None if the user cancels."""
    path = QFileDialog.getExistingDirectory(parent, "Folder of the package", str(folder))
    return Path(path) if path else None


def modules_to_import(parent: QWidget, folder: Path | None) -> list[Path]:
    paths, _ = QFileDialog.getOpenFileNames(parent, "Import module", str(folder or ""), "Python files (*.py)")
    return [Path(path) for path in paths]


def class_to_import(parent: QWidget, path: Path, classes: Sequence[str]) -> str:
    """Ask which module class of a file becomes a block, or which call makes it. An empty text if the user cancels."""
    dialog = QInputDialog(parent)
    dialog.setWindowTitle("Import module")
    dialog.setLabelText(f"{path.name} has {len(classes)} modules. The blocks that a module uses are added, too.")
    dialog.setOption(QInputDialog.InputDialogOption.UseListViewForComboBoxItems)
    dialog.setComboBoxItems(list(classes))
    dialog.setTextValue(next((each for each in classes if each.endswith("()")), classes[-1]))
    if (view := dialog.findChild(QListView)) is not None:
        view.setAccessibleName("Modules")
    dialog.setOkButtonText("Import")
    return dialog.textValue() if dialog.exec() else ""


def step_to_show(parent: QWidget, run: str, current: int, last: int) -> int | None:
    """Ask for a step of a run. None if it was canceled."""
    step, is_chosen = QInputDialog.getInt(
        parent, "Show step", f"Step of {run}, from 0 to {last:,}:", min(current, last), 0, last
    )
    return step if is_chosen else None


def confirm_python_nodes(parent: QWidget, path: Path, reason: str) -> bool:
    """Ask whether the parts of a file that no graph can express become Python nodes."""
    box = _box(QMessageBox.Icon.Question, f"Import parts of {path.name} as Python nodes?", parent)
    box.setInformativeText(f"{reason} Such parts can be Python nodes, whose code does not run until you trust it.")
    accept = box.addButton("Import with Python nodes", QMessageBox.ButtonRole.AcceptRole)
    box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole)
    _ask(box)
    return box.clickedButton() is accept


def picture_to_save(parent: QWidget, suggestion: Path) -> Path | None:
    """Ask for the file name of a picture. Returns None if the user cancels."""
    filters = "SVG picture (*.svg);;PNG picture (*.png);;PDF document (*.pdf)"
    path, chosen = QFileDialog.getSaveFileName(parent, "Export picture", str(suggestion), filters)
    if not path:
        return None
    return Path(path) if Path(path).suffix else Path(path).with_suffix(f".{chosen[:3].lower()}")


def artifact_to_save(parent: QWidget, suggestion: Path) -> Path | None:
    """Ask for the file name of an artifact. Returns None if the user cancels."""
    path, _ = QFileDialog.getSaveFileName(parent, "Export artifact", str(suggestion), f"Artifact (*{ARTIFACT_SUFFIX})")
    if not path:
        return None
    return Path(path) if Path(path).suffix else Path(path).with_suffix(ARTIFACT_SUFFIX)


def report_to_save(parent: QWidget, suggestion: Path) -> Path | None:
    """Ask for the file name of a report. Returns None if the user cancels."""
    filters = "HTML page (*.html);;Markdown (*.md)"
    path, chosen = QFileDialog.getSaveFileName(parent, "Export report", str(suggestion), filters)
    if not path:
        return None
    return Path(path) if Path(path).suffix else Path(path).with_suffix(".html" if "html" in chosen else ".md")


def profile_to_save(parent: QWidget, title: str, suggestion: Path, kind: str) -> Path | None:
    """Ask for the file name of a profile; `kind` is a filter of file names. Returns None if the user cancels."""
    path, _ = QFileDialog.getSaveFileName(parent, title, str(suggestion), kind)
    if not path:
        return None
    return Path(path) if Path(path).suffix else Path(path).with_suffix(suggestion.suffix)


def path_to_save(parent: QWidget, suggestion: Path) -> Path | None:
    """Ask for a file name. Returns a path with the project suffix, or None if the user cancels."""
    path, _ = QFileDialog.getSaveFileName(parent, "Save as", str(suggestion), FILTER)
    if not path:
        return None
    chosen = Path(path)
    return chosen if chosen.suffix else chosen.with_suffix(SUFFIX)
