"""The steps of a recording as a list."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QListView, QWidget

from studio.training.stepping.step_recording import NodeStep, Recording
from studio.ui.theme import icons, theme

_Index = QModelIndex | QPersistentModelIndex

DIRECTIONS = {"forward": "Forward", "backward": "Backward", "update": "Update"}
_ICONS = {"forward": "chevron-right", "backward": "chevron-left", "update": "optimizer"}


class StepListModel(QAbstractListModel):
    """One row per step, in the order of execution. Steps with NaN or infinity have an error icon."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._steps: tuple[NodeStep, ...] = ()

    def show_recording(self, recording: Recording | None) -> None:
        self.beginResetModel()
        self._steps = () if recording is None else recording.steps
        self.endResetModel()

    def rowCount(self, parent: _Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._steps)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not 0 <= index.row() < len(self._steps):
            return None
        step = self._steps[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return step.path
            case Qt.ItemDataRole.DecorationRole:
                name, token = ("error", "error") if not step.is_finite else (_ICONS[step.direction], "text-dim")
                return QIcon(icons.themed(name, token))
            case Qt.ItemDataRole.ForegroundRole:
                return theme.current().color("text" if step.is_finite else "error")
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleTextRole:
                return description(step)
            case _:
                return None


class StepList(QListView):
    """A click or the arrow keys show a step; Enter or a double-click selects its node on the canvas."""

    chosen = Signal(int)
    opened = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.steps = StepListModel(self)
        self.setModel(self.steps)
        self.setAccessibleName("Steps")
        self.setUniformItemSizes(True)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideLeft)
        self.setMinimumWidth(120)
        self.selectionModel().currentChanged.connect(lambda index: self.chosen.emit(index.row()))
        self.activated.connect(lambda index: self.opened.emit(index.row()))

    def show_recording(self, recording: Recording | None) -> None:
        self.selectionModel().blockSignals(True)
        self.steps.show_recording(recording)
        self.selectionModel().blockSignals(False)

    def show_step(self, number: int) -> None:
        """Select a step, and scroll to it."""
        index = self.steps.index(number)
        if index != self.currentIndex():
            self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        self.scrollTo(index)


def description(step: NodeStep) -> str:
    """The node, the direction, and whether its results are finite."""
    parts = [step.path, DIRECTIONS[step.direction].lower()]
    parts += [f"loss of {step.optimizer}"] if step.optimizer else []
    parts += [] if step.is_finite else ["NaN or infinity"]
    return ", ".join(parts)


__all__ = ["DIRECTIONS", "StepList", "StepListModel", "description"]
