"""Imports of dropped and chosen files, one page after another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPointF, Qt, Signal
from PySide6.QtWidgets import QWidget

from engine import lazy
from studio.document.files.project_format import SUFFIX
from studio.document.model import Document
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.geometry import snap

if TYPE_CHECKING:
    from studio.training.data.imports import file_import, import_plan
    from studio.ui.data_import import import_dialog
else:  # used only to import data
    file_import = lazy.module("studio.training.data.imports.file_import")
    import_plan = lazy.module("studio.training.data.imports.import_plan")
    import_dialog = lazy.module("studio.ui.data_import.import_dialog")

_ROW_SPACING = 176
"""Vertical distance of the nodes of several imports."""


class DataImports(QObject):
    refused = Signal(str)
    """Message about files that no data source reads."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._window = parent
        self._waiting: deque[tuple[CanvasView, Path, QPointF]] = deque()
        self.dialog: import_dialog.ImportDialog | None = None
        """The open page."""

    def start(self, canvas: CanvasView, paths: Iterable[Path], at: QPointF) -> None:
        """Open a page for each file, one after the other; report files that no source reads."""
        readable, unreadable = _partition(paths)
        if unreadable:
            self.refused.emit(_refusal(unreadable))
        for path in readable:
            self._waiting.append((canvas, path, at))
            at = at + QPointF(0, _ROW_SPACING)
        self._open_next()

    def _open_next(self) -> None:
        if self.dialog is not None or not self._waiting:
            return
        canvas, path, at = self._waiting.popleft()
        is_first = not import_plan.has_loader(canvas.store.document) and not canvas.store.block
        dialog = import_dialog.ImportDialog(path, canvas.store.project.base, self._window, offers_network=is_first)
        self.dialog = dialog
        dialog.planned.connect(partial(_apply, canvas, at))
        dialog.finished.connect(self._on_finished)
        dialog.open()

    def _on_finished(self) -> None:
        self.dialog = None
        self._open_next()


def _apply(canvas: CanvasView, at: QPointF, plan: import_plan.ImportPlan) -> None:
    """Add the nodes as one edit, select the last, to which further nodes are wired, and show all."""
    position = (snap(at.x()), snap(at.y()))
    added: list[str] = []

    def change(document: Document) -> Document:
        document, names = import_plan.apply_plan(plan, document, position)
        added.extend(names)
        return document

    if canvas.store.edit(plan.title, change):
        canvas.store.select(added[-1:])
        canvas.setFocus()
        once = Qt.ConnectionType.SingleShotConnection  # nodes get their final width with the report
        canvas.store.report_changed.connect(canvas.canvas_actions.fit_all, once)


def _partition(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """The files that a source may read, and the others."""
    found: tuple[list[Path], list[Path]] = [], []
    for path in paths:
        found[0 if file_import.may_be_read(path) else 1].append(path)
    return found


def _refusal(paths: Iterable[Path]) -> str:
    names = ", ".join(path.name for path in paths)
    return (
        f"No data source reads {names}. Drop a table (.csv, .tsv, .parquet, .jsonl), arrays (.npy, .npz), a text "
        f"(.txt), a {SUFFIX} file, or a folder with one folder of images per class, IDX, CIFAR or tar files."
    )


__all__ = ["DataImports"]
