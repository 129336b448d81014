"""Form row that computes a transform's parameters from the training samples."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from studio.nodes.types import NodeType
from studio.training.data.transform_fitting import can_fit
from studio.ui.project.transform_fitter import TransformFitter
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import label


class FitFromDataRow(QWidget):
    """A button; progress while computing; then a summary."""

    def __init__(self, fitter: TransformFitter, node: str) -> None:
        super().__init__()
        self._fitter, self._node = fitter, node
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.button = buttons.text_button("Compute from data", partial(fitter.start, node), icon="data")
        self.button.setToolTip("Compute these values from the training samples; validation samples are not used")
        self.cancel = buttons.text_button("Cancel", fitter.cancel)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        row.addWidget(self.button)
        row.addWidget(self.bar, 1)
        row.addWidget(self.cancel)
        row.addStretch(0)
        column.addLayout(row)
        self.summary = label("", "small", wrap=True)
        self.problem = label("", "error", wrap=True, selectable=True)
        column.addWidget(self.summary)
        column.addWidget(self.problem)
        fitter.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the current state."""
        is_running = self._fitter.node == self._node
        self.button.setVisible(not is_running)
        self.bar.setVisible(is_running)
        self.cancel.setVisible(is_running)
        progress = self._fitter.progress
        self.bar.setRange(0, progress.total)
        self.bar.setValue(progress.done)
        message, is_error = self._fitter.message(self._node) if not is_running else ("", False)
        for line, shown in ((self.summary, not is_error), (self.problem, is_error)):
            line.setText(message if shown else "")
            line.setVisible(shown and bool(message))


def fit_from_data_row(fitter: TransformFitter, node: str, kind: NodeType) -> FitFromDataRow | None:
    """The row for a node whose parameters can be computed from data, else None."""
    return FitFromDataRow(fitter, node) if can_fit(kind) else None


__all__ = ["FitFromDataRow", "fit_from_data_row"]
