"""The row of a form that learns a transform's arguments from the training samples."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from studio.nodes.types import NodeType
from studio.training.data.fitting import can_learn
from studio.ui.project.transform_fitter import Learner
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import label


class FromData(QWidget):
    """A button; while it works its progress, and afterwards what it used."""

    def __init__(self, learner: Learner, node: str) -> None:
        super().__init__()
        self._learner, self._node = learner, node
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.button = buttons.push("From data", partial(learner.start, node), icon="data")
        self.button.setToolTip("Set these from the training samples that arrive here; validation is not looked at")
        self.cancel = buttons.push("Cancel", learner.cancel)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        row.addWidget(self.button)
        row.addWidget(self.bar, 1)
        row.addWidget(self.cancel)
        row.addStretch(0)
        column.addLayout(row)
        self.said = label("", "small", wrap=True)
        self.problem = label("", "error", wrap=True, selectable=True)
        column.addWidget(self.said)
        column.addWidget(self.problem)
        learner.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show what is known now."""
        works = self._learner.node == self._node
        self.button.setVisible(not works)
        self.bar.setVisible(works)
        self.cancel.setVisible(works)
        progress = self._learner.progress
        self.bar.setRange(0, progress.total)
        self.bar.setValue(progress.done)
        words, wrong = self._learner.words(self._node) if not works else ("", False)
        for line, shown in ((self.said, not wrong), (self.problem, wrong)):
            line.setText(words if shown else "")
            line.setVisible(shown and bool(words))


def from_data(learner: Learner, node: str, kind: NodeType) -> FromData | None:
    """The row for a node, if its arguments can be learned."""
    return FromData(learner, node) if can_learn(kind) else None


__all__ = ["FromData", "from_data"]
