"""The inputs and outputs of a step as a table, and the elements of the selected one."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHeaderView, QPlainTextEdit, QTreeWidget, QTreeWidgetItem, QWidget

from studio.training.probing.tensor_statistics import TensorStatistics
from studio.training.stepping.step_recording import NodeStep
from studio.training.stepping.step_values import StepValue
from studio.ui import number_format
from studio.ui.canvas.wires.wire_statistics_tooltip import histogram_text
from studio.ui.theme import fonts, theme

_COLUMNS = ("Tensor", "Shape", "Mean", "Std", "Min", "Max", "Zeros", "NaN", "Infinite")
_TITLES = {
    "forward": ("Inputs", "Outputs"),
    "backward": ("Gradients of outputs", "Gradients of inputs and parameters"),
    "update": ("Gradients", "Parameters after the update"),
}
_NUMBER = Qt.ItemDataRole.UserRole
_EDGE = 4
"""Elements at each end of a dimension that are shown of a large tensor."""


class ValueTable(QTreeWidget):
    """A group for what the step reads, and one for what it computes."""

    value_chosen = Signal(object)
    """A StepValue; None if there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values: list[StepValue] = []
        self.setColumnCount(len(_COLUMNS))
        self.setHeaderLabels(_COLUMNS)
        self.setProperty("role", "outline")
        self.setUniformRowHeights(True)
        self.setIndentation(12)
        self.setAccessibleName("Values of the step")
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.header().setStretchLastSection(False)
        self.currentItemChanged.connect(lambda item: self.value_chosen.emit(self._value_of(item)))

    def show_step(self, step: NodeStep | None) -> None:
        self.blockSignals(True)
        self.clear()
        self._values = []
        if step is not None:
            for title, values in zip(_TITLES[step.direction], (step.inputs, step.outputs), strict=True):
                self._add_group(title, values)
        self.expandAll()
        self.blockSignals(False)
        last = self.topLevelItem(self.topLevelItemCount() - 1)
        chosen = None if last is None else last.child(0)
        if chosen is None:
            self.value_chosen.emit(None)
        else:
            self.setCurrentItem(chosen)

    def _add_group(self, title: str, values: tuple[StepValue, ...]) -> None:
        if not values:
            return
        group = QTreeWidgetItem([title])
        group.setFlags(Qt.ItemFlag.ItemIsEnabled)
        self.addTopLevelItem(group)
        group.setFirstColumnSpanned(True)
        for value in values:
            item = QTreeWidgetItem(_cells(value))
            item.setData(0, _NUMBER, len(self._values))
            item.setToolTip(0, value.name if value.end is None else f"{value.name}: {value.end}")
            for column in range(1, len(_COLUMNS)):
                item.setFont(column, fonts.monospace(12))
                item.setTextAlignment(column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            if not value.is_finite:
                for column in range(len(_COLUMNS)):
                    item.setForeground(column, theme.current().color("error"))
            self._values.append(value)
            group.addChild(item)

    def _value_of(self, item: QTreeWidgetItem | None) -> StepValue | None:
        number = None if item is None else item.data(0, _NUMBER)
        return None if number is None else self._values[number]


class ElementsView(QPlainTextEdit):
    """Histogram and elements of a tensor as text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setFont(fonts.monospace(12))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setAccessibleName("Elements")
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )

    def show_value(self, value: StepValue | None) -> None:
        self.setPlainText("" if value is None else elements_text(value))


def elements_text(value: StepValue) -> str:
    """Shape, histogram and elements of a tensor; of a large one those at its corners."""
    statistics = value.statistics
    lines = [f"{value.name}  {_shape(statistics)} {statistics.dtype}"]
    if statistics.histogram:
        low, high = number_format.measured(statistics.low), number_format.measured(statistics.high)
        lines.append(f"{low} {histogram_text(statistics.histogram)} {high}")
    array = value.array()
    if array is None:
        lines.append("The elements are not kept.")
    else:
        text = np.array2string(
            array, precision=4, threshold=96, edgeitems=_EDGE, max_line_width=120, suppress_small=True
        )
        lines.append(text)
    return "\n".join(lines)


def _shape(statistics: TensorStatistics) -> str:
    return "×".join(map(str, statistics.shape)) or "scalar"


def _cells(value: StepValue) -> list[str]:
    found = value.statistics
    figures = (found.mean, found.std, found.low, found.high)
    counts = [f"{count:,}" if count else "" for count in (found.nan, found.infinite)]
    return [
        value.name,
        _shape(found),
        *map(number_format.measured, figures),
        number_format.percent(found.zeros),
        *counts,
    ]


__all__ = ["ElementsView", "ValueTable", "elements_text"]
