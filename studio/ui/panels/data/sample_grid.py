"""Grid of samples. Only visible samples are read."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QToolTip, QWidget

from studio.training.data.sample_preview import Facts, Sample
from studio.ui.panels.data import sample_painting
from studio.ui.theme import theme
from studio.ui.widgets.labels import tip

GAP = 12
_CACHE_SIZE = 2000
"""Maximum number of cached samples, so that scrolling back is immediate."""
_WHEEL_STEP = 120


class SampleGrid(QAbstractScrollArea):
    """Samples in cells, by index in the shown selection. The scroll bar counts rows of cells."""

    samples_requested = Signal(int, int)
    """Visible samples are missing: first index and number."""
    chosen = Signal(int)
    """A sample was clicked or selected by keyboard."""
    escaped = Signal()
    """Escape was pressed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Samples")
        self.setMouseTracking(True)
        self._facts: Facts | None = None
        self._total = 0
        self._samples: dict[int, Sample] = {}
        self._current: int | None = None
        self._wheel = 0
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        theme.manager().changed.connect(self.viewport().update)

    # -- content

    def show_facts(self, facts: Facts, total: int) -> None:
        """Show other samples and clear the cache."""
        self._facts, self._total = facts, total
        self._samples.clear()
        self._current = None
        self._arrange()
        self.verticalScrollBar().setValue(0)
        self.request_missing()

    def add_samples(self, first: int, samples: tuple[Sample, ...], total: int) -> None:
        """Add samples that were requested."""
        self._samples.update(enumerate(samples, first))
        for index in list(self._samples)[: max(len(self._samples) - _CACHE_SIZE, 0)]:
            del self._samples[index]
        if total != self._total:
            self._total = total
            self._arrange()
        self.viewport().update()

    def sample(self, index: int) -> Sample | None:
        return self._samples.get(index)

    @property
    def current(self) -> int | None:
        return self._current

    @property
    def in_view(self) -> range:
        """Indexes of the visible samples."""
        columns = self._columns
        first = self.verticalScrollBar().value() * columns
        rows = -(-self.viewport().height() // (self._cell.height() + GAP))
        return range(first, min(first + max(rows, 1) * columns, self._total))

    def select_sample(self, index: int | None) -> None:
        """Select a sample and scroll to it."""
        self._current = index
        if index is not None:
            self._current = index = max(0, min(index, self._total - 1))
            row, bar = index // self._columns, self.verticalScrollBar()
            if row < bar.value():
                bar.setValue(row)
            elif row >= bar.value() + self._rows_shown:
                bar.setValue(row - self._rows_shown + 1)
            self.chosen.emit(index)
        self.viewport().update()

    def scroll_pages(self, step: int) -> None:
        """Scroll by pages."""
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + step * self._rows_shown)

    def request_missing(self) -> None:
        """Request the visible samples that are missing."""
        missing = [index for index in self.in_view if index not in self._samples]
        if missing and self._facts is not None:
            self.samples_requested.emit(missing[0], missing[-1] - missing[0] + 1)
        self.viewport().update()

    # -- geometry

    @property
    def _cell(self) -> QSize:
        size = (
            sample_painting.size_of(self._facts)
            if self._facts is not None
            else QSize(sample_painting.SIDE, sample_painting.SIDE)
        )
        return size if size.width() else QSize(max(self.viewport().width() - 2 * GAP, 1), size.height())

    @property
    def _columns(self) -> int:
        return max(1, (self.viewport().width() - GAP) // (self._cell.width() + GAP))

    @property
    def _rows_shown(self) -> int:
        """Number of fully visible rows."""
        return max(1, (self.viewport().height() - GAP // 2) // (self._cell.height() + GAP))

    def cell_rect(self, index: int) -> QRect:
        """Rectangle of a sample in the viewport."""
        cell = self._cell
        row, column = divmod(index, self._columns)
        row -= self.verticalScrollBar().value()
        return QRect(
            GAP + column * (cell.width() + GAP), GAP // 2 + row * (cell.height() + GAP), cell.width(), cell.height()
        )

    def index_at(self, point: QPoint) -> int | None:
        return next(
            (index for index in self.in_view if self.cell_rect(index).adjusted(-4, -4, 4, 4).contains(point)), None
        )

    def _arrange(self) -> None:
        rows = -(-self._total // self._columns)
        bar = self.verticalScrollBar()
        bar.setPageStep(self._rows_shown)
        bar.setRange(0, max(0, rows - self._rows_shown))

    # -- Qt events

    def _scrolled(self, *_: object) -> None:
        self.request_missing()

    def resizeEvent(self, event: QResizeEvent) -> None:
        first = self.in_view.start
        self._arrange()
        self.verticalScrollBar().setValue(first // self._columns)
        self.request_missing()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        painter = QPainter(self.viewport())
        painter.fillRect(self.viewport().rect(), colors.color("surface"))
        if self._facts is None:
            return
        for index in self.in_view:
            area = self.cell_rect(index)
            sample_painting.paint(painter, area, self._samples.get(index), self._facts)
            if index == self._current:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setPen(QPen(colors.color("accent"), 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(area.adjusted(-4, -4, 4, 4), 4, 4)
        if self.hasFocus() and self._current is None:
            painter.setPen(QPen(colors.color("accent"), 1))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.index_at(event.position().toPoint())
        if index is not None and event.button() == Qt.MouseButton.LeftButton:
            self.select_sample(index)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._wheel += event.angleDelta().y()
        steps, self._wheel = int(self._wheel / _WHEEL_STEP), self._wheel - int(self._wheel / _WHEEL_STEP) * _WHEEL_STEP
        if steps:
            self.verticalScrollBar().setValue(self.verticalScrollBar().value() - steps)
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        columns, current = self._columns, self._current if self._current is not None else self.in_view.start - 1
        page = self._rows_shown * columns
        steps = {
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Down: columns,
            Qt.Key.Key_Up: -columns,
            Qt.Key.Key_PageDown: page,
            Qt.Key.Key_PageUp: -page,
            Qt.Key.Key_Home: -self._total,
            Qt.Key.Key_End: self._total,
        }
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_Escape and self._current is not None:
            self.select_sample(None)
            self.escaped.emit()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._total:
            self.select_sample(max(current, 0))
        elif key in steps and self._total:
            arrow = abs(steps[key]) in (1, columns)
            self.select_sample(self.in_view.start if self._current is None and arrow else current + steps[key])
        else:
            super().keyPressEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            index = self.index_at(event.pos())
            sample = self._samples.get(index) if index is not None else None
            if sample is not None:
                text = sample.problem or f"Sample {sample.row:,}: {sample.label}"
                QToolTip.showText(event.globalPos(), tip(text))
            else:
                QToolTip.hideText()
            return True
        return super().viewportEvent(event)


__all__ = ["GAP", "SampleGrid"]
