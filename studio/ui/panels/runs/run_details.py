"""Details beside the curves: settings and results of one selected run, or a comparison of two."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QIcon, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from studio.nodes.catalogue import Catalogue
from studio.training.runs.run_comparison import compare_runs
from studio.training.runs.run_history import Run
from studio.ui.panels.runs.run_actions import RunActions, default_total_epochs
from studio.ui.panels.runs.run_properties import RunProperties
from studio.ui.panels.runs.run_table import ColorDotIcon
from studio.ui.widgets import buttons
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.inputs import LineEdit, SpinBox
from studio.ui.widgets.labels import ElidedLabel, label
from studio.ui.widgets.row_layout import row_of

_MAX_EPOCHS = 1_000_000
_WIDE = 440
"""Above this width all buttons fit in one row."""


class RunDetails(QWidget):
    closed = Signal()

    def __init__(self, actions: RunActions, catalogue: Catalogue, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions, self._catalogue = actions, catalogue
        self._runs: Sequence[Run] = ()
        self.facts = RunProperties()
        self._empty = EmptyState(
            "runs", ("No run selected"), ("Select one run to see its settings and results, or two to compare them.")
        )
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._header())
        column.addWidget(self._single_run())
        column.addWidget(self.facts, 1)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(page)
        self.setFocusProxy(self.facts)
        self.show_runs(())

    def show_runs(self, runs: Sequence[Run]) -> None:
        """Show the current state of these runs."""
        is_same = list(runs) == list(self._runs)
        self._runs = tuple(runs)
        if len(runs) not in (1, 2):
            texts = ("No run selected", "Select one run to see its settings and results, or two to compare them.")
            if runs:
                texts = (
                    f"{len(runs)} runs selected",
                    "Select one run to see its settings and results, or two to compare them.",
                )
            self._empty.set_text(*texts)
            self._stack.setCurrentIndex(0)
            return
        self._stack.setCurrentIndex(1)
        self._title.setText(runs[0].name)
        for widget in (self._dot, self._title):
            widget.setVisible(len(runs) == 1)
        self._dot.setPixmap(QIcon(ColorDotIcon(runs[0])).pixmap(QSize(16, 16), self.devicePixelRatioF()))
        self._single.setVisible(len(runs) == 1)
        self.only_differences.setVisible(len(runs) == 2)
        if len(runs) == 1:
            self._show_actions(runs[0], is_same=is_same)
        self.facts.show_facts(
            runs, compare_runs(runs, self._catalogue), only_differences=self.only_differences.isChecked()
        )

    # -- widgets

    def _header(self) -> QHBoxLayout:
        self._dot = QLabel()
        self._title = ElidedLabel()
        font = self._title.font()
        font.setWeight(font.Weight.DemiBold)
        self._title.setFont(font)
        close = buttons.icon_button("close", "Close details", self.closed.emit, token="text-dim", size=14)
        self.only_differences = QCheckBox("Show only differences")
        self.only_differences.setChecked(True)
        self.only_differences.toggled.connect(self._show_again)
        line = row_of(self._dot, self._title, self.only_differences, close, wide=self._title, spacing=6)
        line.insertStretch(3)
        line.setContentsMargins(12, 6, 4, 4)
        return line

    def _single_run(self) -> QWidget:
        self._single = QWidget()
        column = QVBoxLayout(self._single)
        column.setContentsMargins(12, 0, 12, 8)
        column.setSpacing(6)
        self._warning = label("", "warning", wrap=True)
        column.addWidget(self._warning)
        self.note = LineEdit()
        self.note.setPlaceholderText("Add a note")
        self.note.setAccessibleName("Note")
        self.note.editingFinished.connect(self._write_note)
        column.addWidget(self.note)
        self.restore = buttons.text_button("Restore graph", self._actions.restore, icon="history")
        self.restore.setToolTip("Load this run's graph onto the canvas")
        self.resume = buttons.text_button("Resume", self._resume, icon="run")
        self._epochs_label = label("to epoch", "dim")
        self.epochs = SpinBox()
        self.epochs.lineEdit().setTextMargins(6, 0, 0, 0)
        self.epochs.setRange(1, _MAX_EPOCHS)
        self.epochs.setAccessibleName("Total epochs")
        self.epochs.setToolTip("Total number of epochs, including completed ones")
        resume_row = QHBoxLayout()
        resume_row.setSpacing(6)
        for widget in (self.resume, self._epochs_label, self.epochs):
            resume_row.addWidget(widget)
        resume_row.addStretch(1)
        self._buttons = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._buttons.setSpacing(6)
        self._buttons.addWidget(self.restore, 0, Qt.AlignmentFlag.AlignLeft)
        self._buttons.addLayout(resume_row)
        column.addLayout(self._buttons)
        return self._single

    def _show_actions(self, run: Run, *, is_same: bool) -> None:
        self._warning.setText(run.read_error)
        self._warning.setVisible(bool(run.read_error))
        if not (is_same and self.note.hasFocus()):
            self.note.setText(run.note)
        self.note.setEnabled(run.folder is not None)
        epochs = default_total_epochs(run)
        can_resume = self._actions.can_resume()
        self.resume.setVisible(can_resume)
        for widget in (self._epochs_label, self.epochs):
            widget.setVisible(can_resume and epochs is not None)
        if epochs is not None and not (is_same and self.epochs.hasFocus()):
            self.epochs.setMinimum(max(int(run.last.get("epoch", 0)) + (run.state == "done"), 1))
            self.epochs.setValue(epochs)
        done = run.state == "done"
        self.resume.setToolTip(
            "Train for more epochs" if done else "Continue from the last checkpoint with identical results"
        )

    def _write_note(self) -> None:
        if len(self._runs) == 1 and self.note.text() != self._runs[0].note:
            self._actions.write_note(self._runs[0], self.note.text())

    def _resume(self) -> None:
        self._actions.resume(None if self.epochs.isHidden() else self.epochs.value())

    def _show_again(self, *_: object) -> None:
        self.show_runs(self._runs)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = self.width() >= _WIDE
        self._buttons.setDirection(QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom)

    def sizeHint(self) -> QSize:
        return QSize(360, 240)

    def minimumSizeHint(self) -> QSize:
        return QSize(280, 120)


__all__ = ["RunDetails"]
