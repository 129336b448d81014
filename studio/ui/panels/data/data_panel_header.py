"""Header of the Data panel: node, data part, class filter, sample position."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QRect, QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QSizePolicy,
    QStyle,
    QStyleOptionSpinBox,
    QWidget,
)

from studio.training.data.sample_preview import PARTS, Facts, Part, SampleSelection
from studio.ui.widgets import buttons
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.inputs import ComboBox, SpinBox
from studio.ui.widgets.labels import ElidedLabel, label

_PAGES = ("samples", "statistics")
_DESCRIPTION_WIDTH = 120
"""Minimum width of the node's description; it is hidden below this width."""
_MAX_INDEX = 2**31 - 1
_HEADER_MARGINS = 28
"""Total width of the margins and the spacing around the widgets, in pixels."""
_CURSOR_WIDTH = 4
"""Width of the cursor in the sample index, in pixels."""
_INDEX_TIP = "Sample index, from 0"


class DataPanelHeader(QWidget):
    look_changed = Signal()
    page_changed = Signal(str)
    """"samples" or "statistics"."""
    index_chosen = Signal(int)
    """Index of a sample among the shown ones."""
    page_scrolled = Signal(int)
    """Number of pages to scroll."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._facts: Facts | None = None
        self._draw = 0
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 5, 8, 5)
        row.setSpacing(8)
        self._icon = IconWidget("data", category="data")
        self.title = label("Data")
        self.description = ElidedLabel()
        self.description.setProperty("role", "dim")
        row.addWidget(self._icon)
        row.addWidget(self.title)
        row.addWidget(self.description, 1)
        self.parts = {part: buttons.toggle_button(part.capitalize()) for part in PARTS}
        part_group = QButtonGroup(self)
        for chip in self.parts.values():
            part_group.addButton(chip)
            chip.clicked.connect(self._changed)
        self.parts["training"].setChecked(True)
        self.category = ComboBox()
        self.category.setAccessibleName("Class")
        self.category.setToolTip("Show only samples of one class")
        self.category.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.category.setMinimumContentsLength(6)
        self.category.activated.connect(self._changed)
        self.index_box = _SampleSpinBox()
        self.index_box.setAccessibleName("Sample index")
        self.index_box.setToolTip(_INDEX_TIP)
        self.index_box.setKeyboardTracking(False)
        self.index_box.valueChanged.connect(self.index_chosen)
        up, down = partial(self.page_scrolled.emit, -1), partial(self.page_scrolled.emit, 1)
        self.previous_page = buttons.icon_button("chevron-up", "Previous page (PgUp)", up, size=14)
        self.next_page = buttons.icon_button("chevron-down", "Next page (PgDn)", down, size=14)
        self.redraw = buttons.icon_button("reset", "Draw new random transforms", self._redraw_samples)
        self._sample_controls: list[QWidget] = [
            *self.parts.values(),
            self.category,
            self.index_box,
            self.previous_page,
            self.next_page,
            self.redraw,
        ]
        row.addSpacing(4)
        for widget in self._sample_controls:
            row.addWidget(widget)
        row.addSpacing(8)
        self.pages = {page: buttons.toggle_button(page.capitalize()) for page in _PAGES}
        page_group = QButtonGroup(self)
        for page, chip in self.pages.items():
            page_group.addButton(chip)
            chip.clicked.connect(partial(self._turn_to, page))
            row.addWidget(chip)
        for chip in (*self.parts.values(), *self.pages.values()):
            chip.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        row.addStretch(0)
        self.pages["samples"].setChecked(True)
        self.show_facts(None)

    @property
    def selection(self) -> SampleSelection:
        part: Part = "validation" if self.parts["validation"].isChecked() else "training"
        category = self.category.currentIndex() - 1 if self.category.count() else -1
        return SampleSelection(part, category if category >= 0 else None, self._draw)

    @property
    def page(self) -> str:
        return "statistics" if self.pages["statistics"].isChecked() else "samples"

    def show_facts(self, facts: Facts | None, icon: str = "data", category: str = "data") -> None:
        """Show another node, or the same node with other samples; selections are kept if possible."""
        before = self._facts
        self._facts = facts
        if facts is None:
            self.title.setText("Data")
            self.description.setText("")
            self._icon.set_icon("data", category="data")
        else:
            self.title.setText(facts.node)
            self.description.setText(_shape_text(facts))
            self._icon.set_icon(icon, category=category)
            if not facts.counts["validation"]:
                self.parts["training"].setChecked(True)
            self.parts["validation"].setEnabled(facts.counts["validation"] > 0)
            self.parts["validation"].setToolTip("" if facts.counts["validation"] else "No validation samples")
        names = facts.class_names if facts is not None else ()
        if names != (before.class_names if before is not None else ()) or not self.category.count():
            self.category.clear()
            self.category.addItems(["All classes", *names])
        self._fit()

    def show_total(self, total: int) -> None:
        """Set the number of samples."""
        self.index_box.blockSignals(True)
        self.index_box.setRange(0, max(0, min(total - 1, _MAX_INDEX)))
        is_stream = self._facts is not None and self._facts.is_stream
        self.index_box.setSuffix(f" / {total:,}{'+' if is_stream else ''}")
        self.index_box.setToolTip(
            _INDEX_TIP + (f". Only the first {total:,} samples of a stream can be shown" if is_stream else "")
        )
        self.index_box.setEnabled(total > 0)
        self.index_box.blockSignals(False)
        self._fit()

    def show_index(self, index_box: int) -> None:
        """Set the current sample index."""
        self.index_box.blockSignals(True)
        self.index_box.setValue(index_box)
        self.index_box.blockSignals(False)

    def choose(self, part: Part) -> None:
        """Show all samples of a part."""
        self.parts[part].setChecked(True)
        self.category.setCurrentIndex(0)
        self.pages["samples"].setChecked(True)
        self._turn_to("samples")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _turn_to(self, page: str, *_: object) -> None:
        self._fit()
        self.page_changed.emit(page)

    def _redraw_samples(self) -> None:
        self._draw += 1
        self._fit()
        self.look_changed.emit()

    def _changed(self, *_: object) -> None:
        self._fit()
        self.look_changed.emit()

    def _fit(self) -> None:
        facts, samples = self._facts, self.page == "samples"
        varies = facts is not None and facts.varies and self.selection.part == "training"
        shown = dict.fromkeys(self._sample_controls, samples and facts is not None)
        shown[self.category] &= facts is not None and bool(facts.class_names)
        shown[self.redraw] &= varies
        shown |= dict.fromkeys((*self.pages.values(), self.description), facts is not None)
        room = self.width() - sum(_width(widget) for widget, is_shown in shown.items() if is_shown)
        room -= _width(self._icon) + _width(self.title) + _HEADER_MARGINS
        pages = (self.previous_page, self.next_page)
        for group in (pages, (self.description,), (self.index_box,), (self.category,)):
            if room < 0:
                room += sum(_width(widget) for widget in group if shown[widget])
                shown |= dict.fromkeys(group, False)
        for widget, is_shown in shown.items():  # each once: every change of visibility triggers a layout
            widget.setVisible(is_shown)
        self.redraw.setToolTip(f"Draw new random transforms. Shown: epoch {self._draw + 1}")


class _SampleSpinBox(SpinBox):
    """As wide as the largest number with its suffix.

    Qt measures at most 18 characters, and counts the border of the style sheet more than once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        width = self.fontMetrics().horizontalAdvance(f"{self.textFromValue(self.maximum())}{self.suffix()}")
        option, field = QStyleOptionSpinBox(), QStyle.SubControl.SC_SpinBoxEditField
        self.initStyleOption(option)
        option.rect = QRect(0, 0, width, self.height())  # pyright: ignore[reportAttributeAccessIssue] - in a base's stub
        inner = self.style().subControlRect(QStyle.ComplexControl.CC_SpinBox, option, field, self)
        return QSize(
            width + self.lineEdit().textMargins().left() + 2 * _CURSOR_WIDTH + width - inner.width(),
            super().sizeHint().height(),
        )

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


def _width(widget: QWidget) -> int:
    """Width including spacing."""
    return (_DESCRIPTION_WIDTH if isinstance(widget, ElidedLabel) else widget.sizeHint().width()) + 8


def _shape_text(facts: Facts) -> str:
    """Shapes of a sample before and after the node, or its shapes if the node does not change them."""
    if facts.input_before is not None and facts.input_before != facts.input:
        return f"{facts.input_before} → {facts.input}"
    if facts.target_before is not None:
        return f"targets {facts.target_before} → {facts.target}"
    return f"{facts.input}, target {facts.target}"


__all__ = ["DataPanelHeader"]
