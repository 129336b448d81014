"""A single sample, enlarged, with its values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QEvent, QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QHBoxLayout,
    QSizePolicy,
    QTableView,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from engine.shape import format_shape
from studio.training.data.sample_display import Kind, Scale
from studio.training.data.sample_preview import Facts, Part, Sample
from studio.ui.panels.data import sample_painting
from studio.ui.theme import fonts, theme
from studio.ui.widgets import buttons
from studio.ui.widgets.inputs import ComboBox
from studio.ui.widgets.labels import ElidedLabel, label, tip
from studio.ui.widgets.row_layout import row_of

_COLORS = ["Red", "Green", "Blue"]
_MAX_NAME_WIDTH = 160
"""Maximum width of a column name in pixels, so that the value stays visible."""

Index = QModelIndex | QPersistentModelIndex


class SampleDetail(QWidget):
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._facts: Facts | None = None
        self._sample: Sample | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 6, 8, 8)
        column.setSpacing(6)
        self.title = ElidedLabel()
        self._sides = {side: buttons.toggle_button(side.capitalize()) for side in ("before", "after")}
        group = QButtonGroup(self)
        for chip in self._sides.values():
            group.addButton(chip)
            chip.clicked.connect(self._show)
        self._sides["after"].setChecked(True)
        self.channel = ComboBox()
        self.channel.setAccessibleName("Channel")
        self.channel.setToolTip("Channel whose values are listed")
        self.channel.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.channel.setMinimumContentsLength(3)
        self.channel.currentIndexChanged.connect(self._show_numbers)
        close = buttons.icon_button("close", "Close (Esc)", self.closed.emit, token="text-dim", size=14)
        column.addLayout(row_of(self.title, *self._sides.values(), self.channel, close, wide=self.title, spacing=6))
        self._problem = label("", "error", wrap=True, selectable=True)
        column.addWidget(self._problem)
        both = QHBoxLayout()
        both.setSpacing(12)
        self.picture = _SampleImage()
        both.addWidget(self.picture, 2)
        right = QVBoxLayout()
        right.setSpacing(4)
        self.figures = label("", "mono-dim", wrap=True, selectable=True)
        right.addWidget(self.figures)
        self.numbers = _numbers_view()
        right.addWidget(self.numbers, 1)
        both.addLayout(right, 3)
        column.addLayout(both, 1)
        self.setMinimumWidth(260)

    def show_sample(self, facts: Facts, part: Part, sample: Sample) -> None:
        """Show a sample of a data part."""
        self._facts, self._sample = facts, sample
        name = f" · {sample.label}" if sample.label and facts.kind != "text" else ""
        self.title.setText(f"#{sample.row:,}{name}")
        self.title.setToolTip(tip(f"{part.capitalize()} sample {sample.row:,}{name}"))
        has_before = sample.before is not None or sample.target_before is not None
        for chip in self._sides.values():
            chip.setVisible(has_before)
        self._problem.setText(sample.problem)
        self._problem.setVisible(bool(sample.problem))
        self._show()

    def _show(self, *_: object) -> None:
        facts, sample = self._facts, self._sample
        if facts is None or sample is None:
            return
        values = self._values
        shown = values is not None
        for widget in (self.picture, self.numbers, self.figures):
            widget.setVisible(shown)
        if values is None:
            return
        is_before = self._shows_before and sample.before is not None
        kind = facts.kind_before if is_before else facts.kind
        scale = facts.scale_before if is_before else facts.scale
        self.picture.show_values(values, kind, scale)
        self.picture.setVisible(kind in ("images", "series", "vectors"))
        target = sample.target_before if self._shows_before and sample.target_before is not None else sample.target
        self.figures.setText(
            "\n".join((_figures("input", values), *([_figures("target", target)] if target is not None else [])))
        )
        channels = values.shape[0] if values.ndim == 3 else 1
        if self.channel.count() != channels:
            self.channel.blockSignals(True)
            self.channel.clear()
            self.channel.addItems(_COLORS if channels == 3 else [str(number) for number in range(channels)])
            self.channel.blockSignals(False)
        self.channel.setVisible(channels > 1)
        self._show_numbers()

    def _show_numbers(self, *_: object) -> None:
        values, facts = self._values, self._facts
        if values is None or facts is None:
            return
        if facts.kind == "text" and self._sample is not None and self._sample.target is not None:
            rows: NDArray[Any] = np.stack([values.reshape(-1), self._sample.target.reshape(-1)[: values.size]])
            tokens = [[_token(facts, number) for number in row] for row in rows.tolist()]
            names = ("input", "target")
            self._set_model(_ValueModel(rows, names, tokens))
            return
        if values.ndim == 3:
            values = values[max(self.channel.currentIndex(), 0)]
        if values.ndim < 2:
            names = facts.columns or tuple(map(str, range(values.size)))
            self._set_model(_ValueModel(values.reshape(-1, 1), names if len(names) == values.size else ()))
        else:
            self._set_model(_ValueModel(values.reshape(len(values), -1)))

    def _set_model(self, model: _ValueModel) -> None:
        old = self.numbers.model()
        self.numbers.setModel(model)
        if old is not None:
            old.deleteLater()
        single = model.columnCount() == 1
        self.numbers.horizontalHeader().setStretchLastSection(single)
        self.numbers.horizontalHeader().setVisible(not single)

    @property
    def _shows_before(self) -> bool:
        return self._sides["before"].isChecked() and not self._sides["before"].isHidden()

    @property
    def _values(self) -> NDArray[Any] | None:
        sample = self._sample
        if sample is None:
            return None
        return sample.before if self._shows_before and sample.before is not None else sample.input


class _SampleImage(QWidget):
    """The sample's image, as large as possible."""

    def __init__(self) -> None:
        super().__init__()
        self._values: NDArray[Any] | None = None
        self._kind: Kind = "images"
        self._scale = Scale()
        self._image: QImage | None = None
        self._image_rect = QRectF()
        self.setMinimumSize(96, 96)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Sample image")
        theme.manager().changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(220, 180)

    def show_values(self, values: NDArray[Any], kind: Kind, scale: Scale) -> None:
        self._values, self._kind, self._scale = values, kind, scale
        self._image = sample_painting.image_of(values, scale) if kind == "images" else None
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self._image is not None:
            self._image_rect = sample_painting.draw_image(painter, self.rect(), self._image)
        elif self._values is not None and self._kind in ("series", "vectors"):
            sample_painting.paint_numbers(painter, self.rect(), self._values, self._kind, self._scale)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            text = self._number_at(event.pos().x(), event.pos().y())
            QToolTip.showText(event.globalPos(), text) if text else QToolTip.hideText()
            return True
        return super().event(event)

    def _number_at(self, x: float, y: float) -> str:
        if self._image is None or self._values is None or not self._image_rect.contains(x, y):
            return ""
        column = int((x - self._image_rect.left()) / self._image_rect.width() * self._image.width())
        row = int((y - self._image_rect.top()) / self._image_rect.height() * self._image.height())
        planes = sample_painting.as_planes(self._values)
        return f"Row {row}, column {column}: " + ", ".join(f"{value:.4g}" for value in planes[:, row, column].tolist())


class _ValueModel(QAbstractTableModel):
    """Table model of the sample's values."""

    def __init__(self, rows: NDArray[Any], names: tuple[str, ...] = (), tokens: list[list[str]] | None = None) -> None:
        super().__init__()
        self._rows, self._names, self._tokens = rows, names, tokens

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        return 0 if parent.isValid() else self._rows.shape[1]

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        has_name = orientation == Qt.Orientation.Vertical and section < len(self._names)
        if role == Qt.ItemDataRole.DisplayRole:
            return self._names[section] if has_name else str(section)
        return tip(self._names[section]) if role == Qt.ItemDataRole.ToolTipRole and has_name else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        value = self._rows[index.row(), index.column()].item()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                shown = f"{value:.4g}" if isinstance(value, float) else str(value)
                return f"{self._tokens[index.row()][index.column()]} {shown}" if self._tokens is not None else shown
            case Qt.ItemDataRole.ForegroundRole if value != value:
                return theme.current().color("error")
            case Qt.ItemDataRole.ToolTipRole:
                return repr(value)
            case _:
                return None


def _numbers_view() -> QTableView:
    view = QTableView()
    view.setProperty("role", "numbers")
    view.setFont(fonts.monospace(11))
    view.setShowGrid(False)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    view.setAccessibleName("Values of the sample")
    view.setTabKeyNavigation(False)
    view.setCornerButtonEnabled(False)
    view.verticalHeader().setDefaultSectionSize(20)
    view.verticalHeader().setMinimumSectionSize(20)
    view.verticalHeader().setMaximumWidth(_MAX_NAME_WIDTH)
    view.verticalHeader().setTextElideMode(Qt.TextElideMode.ElideRight)
    view.horizontalHeader().setDefaultSectionSize(58)
    view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setMinimumHeight(60)
    return view


def _figures(name: str, values: NDArray[Any]) -> str:
    """Shape, dtype and range."""
    head = f"{name} {format_shape(values.shape)} {values.dtype.name}"
    if values.size == 1:
        value = values.item()
        return f"{head} = {value:.6g}" if isinstance(value, float) else f"{head} = {value}"
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if not finite.size:
        return f"{head}, all NaN or infinite" if values.size else f"{head}, no values"
    low, high, mean = (float(each) for each in (finite.min(), finite.max(), finite.mean()))
    nonfinite = values.size - finite.size
    return f"{head}, {low:.4g} to {high:.4g}, mean {mean:.4g}" + (f", {nonfinite} NaN or infinite" if nonfinite else "")


def _token(facts: Facts, number: int) -> str:
    vocabulary = facts.vocabulary
    return sample_painting.visible_token(vocabulary[number]) if 0 <= number < len(vocabulary) else "·"


__all__ = ["SampleDetail"]
