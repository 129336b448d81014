"""The runs of this session: colour, state, last figures; a tick shows or hides a run's curves."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from studio.ui import figures, theme
from studio.ui.panels.runs.plot import run_color
from studio.ui.runs import Run

_STATES = {
    "running": "Running",
    "paused": "Paused",
    "done": "Done",
    "stopped": "Stopped",
    "failed": "Failed",
    "idle": "Waiting",
}


class RunList(QTreeWidget):
    toggled = Signal()
    """A run was shown or hidden."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: dict[int, tuple[Run, QTreeWidgetItem]] = {}
        self.setHeaderLabels(["Run", "State", "Loss"])
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setAccessibleName("Runs")
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self.itemChanged.connect(self._toggle)
        theme.manager().changed.connect(self._paint_anew)

    def add(self, run: Run) -> None:
        """One more run, first in the list."""
        item = QTreeWidgetItem()
        item.setIcon(0, QIcon(_Dot(run.number)))
        item.setText(0, run.name)
        item.setToolTip(0, f"Started at {run.started:%H:%M:%S}")
        item.setCheckState(0, Qt.CheckState.Checked)
        item.setTextAlignment(2, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.insertTopLevelItem(0, item)
        self._items[run.number] = (run, item)
        self.refresh(run)

    def refresh(self, run: Run) -> None:
        """Show how the run stands now."""
        item = self._items[run.number][1]
        loss = run.progress.val_loss if run.progress.val_loss is not None else run.progress.loss
        item.setText(1, _STATES.get(run.state, run.state.capitalize()))
        item.setText(2, "" if loss is None else figures.measured(loss))

    def _paint_anew(self, *_: object) -> None:
        self.viewport().update()

    def _toggle(self, item: QTreeWidgetItem) -> None:
        for run, own in self._items.values():
            is_shown = own.checkState(0) == Qt.CheckState.Checked
            if own is item and run.is_shown != is_shown:
                run.is_shown = is_shown
                self.toggled.emit()


class _Dot(QIconEngine):
    """A run's colour, in the theme in use."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(run_color(self._number))
        side = min(rect.width(), rect.height()) * 0.6
        dot = QRectF(0, 0, side, side)
        dot.moveCenter(QRectF(rect).center())
        painter.drawEllipse(dot)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        picture = QPixmap(size)
        picture.fill(QColor(0, 0, 0, 0))
        painter = QPainter(picture)
        self.paint(painter, picture.rect(), mode, state)
        painter.end()
        return picture

    def clone(self) -> QIconEngine:
        return _Dot(self._number)
