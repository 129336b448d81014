"""The preview of an import: first rows as in the file and as tensors, shapes, and the balance of classes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QHBoxLayout,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from engine.data.tables.inference.table_schema import TableSchema
from studio.training.data.imports.import_plan import ImportPlan, ImportPreview
from studio.ui.data_import.sample_pictures import SamplePictures
from studio.ui.theme import theme
from studio.ui.widgets.buttons import toggle_button
from studio.ui.widgets.labels import label, tip

_MAX_SHOWN_COLUMNS = 200
_MAX_SHOWN_CLASSES = 10
_NARROWEST_COLUMN, _WIDEST_COLUMN = 92, 180
_BAR_ROW = 20


class ImportPreviewPanel(QWidget):
    """A table of the first rows, as in the file or after all transforms."""

    def __init__(self) -> None:
        super().__init__()
        self.before = toggle_button("As in the file", tip="Show the first rows as they are in the file")
        self.after = toggle_button("As tensors", tip="Show the first training samples after all transforms")
        self._group = QButtonGroup(self)
        for button in (self.before, self.after):
            self._group.addButton(button)
        self.after.setChecked(True)
        self._group.buttonToggled.connect(self._refresh)
        self.summary = label("", "dim", wrap=True)
        self.table = QTableWidget()
        self.table.setAccessibleName("Preview")
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.table.setShowGrid(False)
        self.table.setAlternatingRowColors(True)
        self.table.setTabKeyNavigation(False)
        self.table.verticalHeader().setVisible(False)
        self.table.verticalHeader().setDefaultSectionSize(24)
        self.table.horizontalHeader().setTextElideMode(Qt.TextElideMode.ElideRight)
        self.table.horizontalHeader().setHighlightSections(False)
        self.table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.pictures = SamplePictures()
        self.balance = ClassBalance()
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(label("Preview", "heading"))
        top.addStretch(1)
        top.addWidget(self.before)
        top.addWidget(self.after)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(top)
        column.addWidget(self.summary)
        column.addWidget(self.table, 1)
        column.addWidget(self.pictures, 1)
        column.addWidget(self.balance)
        self._schema: TableSchema | None = None
        self._preview: ImportPreview | None = None
        self.show_plan(None)

    def show_schema(self, schema: TableSchema) -> None:
        self._schema = schema
        self._refresh()

    def show_plan(self, plan: ImportPlan | None, problem: str = "") -> None:
        """Show the samples of a plan, or why there are none."""
        preview = None if plan is None else plan.preview
        self._preview = preview
        if preview is not None:
            counts = f"{preview.training:,} training and {preview.validation:,} validation samples"
            self.summary.setText(f"{preview.input} → {preview.target} · {counts}")
        else:
            self.summary.setText(problem or "Computing the preview…")
        self.summary.setProperty("role", "error" if problem else "dim")
        self.summary.style().polish(self.summary)
        self.pictures.show_samples(preview.samples if preview is not None else None)
        self.balance.show_classes(preview.classes if preview is not None else ())
        self._refresh()

    def _refresh(self, *_: object) -> None:
        is_table = self._schema is not None
        self.layout().setContentsMargins(8 if is_table else 0, 0, 0, 0)  # pyright: ignore[reportOptionalMemberAccess]
        for widget in (self.before, self.after, self.table):
            widget.setVisible(is_table)
        if self._schema is None:
            return
        if self.before.isChecked():
            self._fill([column.name for column in self._schema.columns], self._schema.preview)
        elif self._preview is not None:
            self._fill(self._preview.columns, self._preview.rows)
        else:
            self._fill((), ())

    def _fill(self, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        shown = [" ".join(name.split())[:60] for name in names[:_MAX_SHOWN_COLUMNS]]
        self.table.clear()
        self.table.setColumnCount(len(shown))
        self.table.setRowCount(len(rows))
        for column, name in enumerate(shown):
            header = QTableWidgetItem(name)
            header.setToolTip(tip(names[column]))
            self.table.setHorizontalHeaderItem(column, header)
            width = self.table.horizontalHeader().sectionSizeHint(column)
            self.table.setColumnWidth(column, min(max(width, _NARROWEST_COLUMN), _WIDEST_COLUMN))
        for row, values in enumerate(rows):
            for column, text in enumerate(values[: len(shown)]):
                self.table.setItem(row, column, QTableWidgetItem(" ".join(text.split())[:80]))


class ClassBalance(QWidget):
    """Bars with the number of training samples of each class."""

    def __init__(self) -> None:
        super().__init__()
        self._classes: tuple[tuple[str, int], ...] = ()
        self._largest = 1
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_classes(self, classes: tuple[tuple[str, int], ...]) -> None:
        ordered = sorted(classes, key=lambda each: -each[1])
        rest = ordered[_MAX_SHOWN_CLASSES:]
        self._largest = max(ordered[0][1], 1) if ordered else 1
        if rest:
            ordered = [*ordered[:_MAX_SHOWN_CLASSES], (f"{len(rest)} more classes", sum(count for _, count in rest))]
        self._classes = tuple(ordered)
        self.setVisible(bool(classes))
        shown = ", ".join(f"{name}: {count:,}" for name, count in ordered)
        self.setAccessibleName(f"Training samples by class: {shown}" if shown else "Classes")
        self.setToolTip(shown)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, _BAR_ROW * len(self._classes))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colors = QPainter(self), theme.manager()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = self.fontMetrics()
        name_width = min(max((metrics.horizontalAdvance(name) for name, _ in self._classes), default=0) + 2, 140)
        count_width = max((metrics.horizontalAdvance(f"{count:,}") for _, count in self._classes), default=0)
        room = max(self.width() - name_width - count_width - 24, 10)
        for row, (name, count) in enumerate(self._classes):
            top = row * _BAR_ROW
            middle = Qt.AlignmentFlag.AlignVCenter
            painter.setPen(colors.color("text"))
            shown = metrics.elidedText(name, Qt.TextElideMode.ElideRight, name_width)
            painter.drawText(QRectF(0, top, name_width, _BAR_ROW), middle, shown)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colors.color("accent"))
            if row < _MAX_SHOWN_CLASSES:  # the sum of the other classes has another scale
                painter.drawRoundedRect(QRectF(name_width + 8, top + 5, max(room * count / self._largest, 2), 10), 2, 2)
            painter.setPen(colors.color("text-dim"))
            right = middle | Qt.AlignmentFlag.AlignRight
            painter.drawText(QRectF(self.width() - count_width - 2, top, count_width, _BAR_ROW), right, f"{count:,}")
