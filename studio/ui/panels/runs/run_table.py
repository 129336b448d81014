"""Table model of the runs: name and color, state, results, differing settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPen, QPixmap

from studio.training.runs.run_history import Run
from studio.ui import number_format
from studio.ui.panels.runs.curve_plot import title
from studio.ui.panels.runs.curves_item import run_color
from studio.ui.theme import theme
from studio.ui.widgets.labels import tip

Index = QModelIndex | QPersistentModelIndex

WIDEST_STATE = "Stopped, diverged"
_STATES = {
    "running": "Running",
    "paused": "Paused",
    "done": "Done",
    "stopped": "Stopped",
    "failed": "Failed",
    "interrupted": "Interrupted",
    "idle": "Waiting",
}
_TIPS = {
    "interrupted": "The process exited unexpectedly. Resume continues from the last checkpoint.",
    "stopped": "Stopped by the user. Resume continues from there.",
}
_HEADER_TIPS = {
    "train_loss": "Mean training loss of the last complete epoch. The top bar shows the loss of the last batch.",
    "val_loss": "Mean loss of the last validation",
    "best": "Lowest validation loss, or lowest mean training loss without validation",
}
SORT_ROLE = Qt.ItemDataRole.UserRole
RUN_ROLE = Qt.ItemDataRole.UserRole + 1
_ALIGN_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True, slots=True)
class RunColumn:
    """A column of the run list."""

    key: str
    title: str
    text: Callable[[Run], str]
    order: Callable[[Run], Any]
    """Sort key; the same type for all runs."""
    is_number: bool = False


class RunTable(QAbstractTableModel):
    toggled = Signal()
    """A run was shown or hidden."""
    renamed = Signal(object, str)
    """A Run and its new name."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: list[Run] = []
        self._differences_by_run: Mapping[Run, Mapping[str, Any]] = {}
        self._fields = _fields((), self._differences)

    @property
    def fields(self) -> Sequence[RunColumn]:
        return self._fields

    def run(self, index: Index) -> Run:
        return self._runs[index.row()]

    def row(self, run: Run) -> int | None:
        return self._runs.index(run) if run in self._runs else None

    def show_runs(self, runs: Sequence[Run]) -> None:
        """Replace all runs."""
        if self._runs != list(runs):
            self.beginResetModel()
            self._runs = list(runs)
            self._fields = _fields(self._metrics(), self._differences)
            self.endResetModel()
        else:
            self.refresh()

    def refresh(self) -> None:
        """Update the state of the runs."""
        metrics = self._metrics()
        fields = _fields(metrics, self._differences)
        if [field.key for field in fields] != [field.key for field in self._fields]:
            self.beginResetModel()
            self._fields = fields
            self.endResetModel()
        elif self._runs:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._runs) - 1, len(self._fields) - 1))

    def show_differences(self, differing: Mapping[Run, Mapping[str, Any]]) -> None:
        """Set the settings that differ between runs."""
        self._differences_by_run = differing
        self.refresh()

    # -- Qt model interface

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        return 0 if parent.isValid() else len(self._runs)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        return 0 if parent.isValid() else len(self._fields)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or section >= len(self._fields):
            return None
        field = self._fields[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return field.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return _HEADER_TIPS.get(field.key)
        return _ALIGN_RIGHT if role == Qt.ItemDataRole.TextAlignmentRole and field.is_number else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        run, field = self._runs[index.row()], self._fields[index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return field.text(run)
            case Qt.ItemDataRole.EditRole:
                return run.name
            case Qt.ItemDataRole.ToolTipRole:
                return tip(_tip(run, field))
            case Qt.ItemDataRole.TextAlignmentRole:
                return _ALIGN_RIGHT if field.is_number else None
            case Qt.ItemDataRole.DecorationRole if field.key == "name":
                return QIcon(ColorDotIcon(run))
            case Qt.ItemDataRole.CheckStateRole if field.key == "name":
                return Qt.CheckState.Checked if run.is_shown else Qt.CheckState.Unchecked
            case _:
                pass
        if role == SORT_ROLE:
            return field.order(run)
        return run if role == RUN_ROLE else None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        run = self.run(index)
        if role == Qt.ItemDataRole.CheckStateRole:
            run.is_shown = Qt.CheckState(value) == Qt.CheckState.Checked
            self.dataChanged.emit(index, index)
            self.toggled.emit()
            return True
        if role == Qt.ItemDataRole.EditRole:
            self.renamed.emit(run, str(value).strip())
            return True
        return False

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
        if index.isValid() and self._fields[index.column()].key == "name":
            flags |= Qt.ItemFlag.ItemIsUserCheckable
            if self.run(index).folder is not None:
                flags |= Qt.ItemFlag.ItemIsEditable
        return flags

    # -- columns

    def _metrics(self) -> tuple[str, ...]:
        """Metrics of any run, without losses."""
        names = dict.fromkeys(name for run in self._runs for name in run.last)
        metrics = dict.fromkeys(name.partition("_")[2] for name in names if name.startswith(("train_", "val_")))
        return tuple(name for name in metrics if name != "loss")

    def _differences(self, run: Run) -> str:
        return " · ".join(f"{name} {_brief(value)}" for name, value in self._differences_by_run.get(run, {}).items())


def _fields(metrics: Sequence[str], differences: Callable[[Run], str]) -> tuple[RunColumn, ...]:
    return (
        RunColumn("name", "Run", lambda run: run.name, lambda run: run.number),
        RunColumn("state", "State", _state, lambda run: run.state),
        *(_figure(name, label) for name, label in (("train_loss", "Mean loss"), ("val_loss", "Val. loss"))),
        RunColumn("best", "Best loss", _best, _best_order, is_number=True),
        *(_figure(f"val_{name}", title(name), f"train_{name}") for name in metrics),
        RunColumn("epochs", "Epochs", _epochs, lambda run: float(run.last.get("epoch", 0)), is_number=True),
        RunColumn("step", "Steps", lambda run: f"{run.step:,}", lambda run: run.step, is_number=True),
        RunColumn(
            "started", "Started", lambda run: when(run.started), lambda run: str(run.metadata.get("started", ""))
        ),
        RunColumn("device", "Device", lambda run: run.device.upper().replace("CUDA", "GPU"), lambda run: run.device),
        RunColumn("differs", "Differences", differences, differences),
    )


def _figure(name: str, label: str, fallback: str = "") -> RunColumn:
    def value(run: Run) -> float | None:
        found = run.last.get(name if name in run.last else fallback, "")
        return math.nan if found is None else found if isinstance(found, (int, float)) else None

    def text(run: Run) -> str:
        found = value(run)
        return "" if found is None else number_format.measured(found)

    def order(run: Run) -> float:
        found = value(run)
        return float("inf") if found is None or found != found else found

    return RunColumn(name, label, text, order, is_number=True)


def _best_loss(run: Run) -> float | None:
    found = run.best.get("val_loss", run.best.get("train_loss"))
    return found if isinstance(found, (int, float)) else None


def _best(run: Run) -> str:
    found = _best_loss(run)
    return "" if found is None else number_format.measured(found)


def _best_order(run: Run) -> float:
    found = _best_loss(run)
    return float("inf") if found is None else found


def _state(run: Run) -> str:
    title = _STATES.get(run.state, run.state.capitalize())
    share = run.progress.fraction
    if run.is_live:
        return f"{title}, {share:.0%}" if share else title
    return f"{title}, {run.loss_problem}" if run.loss_problem else title


def _epochs(run: Run) -> str:
    done = max(int(run.last.get("epoch", 0)), run.progress.epoch if run.is_live else 0)
    epochs = run.settings.get("epochs")
    return f"{done} of {epochs}" if epochs else f"{done}"


def _tip(run: Run, field: RunColumn) -> str:
    if field.key == "state":
        message = run.metadata.get("message") if run.state == "failed" or run.loss_problem else None
        return "\n".join(filter(None, (str(message or ""), _TIPS.get(run.state, ""), run.read_error)))
    if field.key == "differs":
        return field.text(run).replace(" · ", "\n")
    if field.key == "name":
        return "\n".join(filter(None, (run.name, run.note, str(run.folder or "Not saved to disk"))))
    return ""


def _brief(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    return f"{text[:23]}…" if len(text) > 24 else text


def when(time: datetime | None) -> str:
    """``14:05`` today, ``12 Nov, 14:05`` otherwise."""
    if time is None:
        return ""
    now = datetime.now().astimezone()
    if time.date() == now.date():
        return f"{time:%H:%M}"
    return f"{time.day} {time:%b, %H:%M}" if time.year == now.year else f"{time.day} {time:%b %Y}"


class ColorDotIcon(QIconEngine):
    """Dot in a run's color; a ring if its curves are hidden."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        side = min(rect.width(), rect.height()) * 0.6
        dot = QRectF(0, 0, side, side)
        if self._run.is_shown:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(run_color(self._run))
        else:
            painter.setPen(QPen(theme.current().color("border-strong"), side / 8))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            dot.adjust(side / 16, side / 16, -side / 16, -side / 16)
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
        return ColorDotIcon(self._run)


__all__ = ["RUN_ROLE", "SORT_ROLE", "WIDEST_STATE", "ColorDotIcon", "RunColumn", "RunTable", "when"]
