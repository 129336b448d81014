"""The compiled step as a tree: graph breaks by cause, segments with their kernels, and recompiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from PySide6.QtCore import QItemSelectionModel, QSize, Qt, Signal
from PySide6.QtGui import QIcon, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QTreeWidgetItemIterator, QWidget

from engine.compiler.break_reasons import REASONS
from engine.compiler.explanation import Explanation, KernelInfo, SegmentInfo
from engine.compiler.explanation_text import execution_text
from studio.training.regions import nodes_of, nodes_of_kernel
from studio.ui import number_format
from studio.ui.panels.compile.region_icon import region_icon
from studio.ui.panels.compile.row_detail import location_text
from studio.ui.theme import fonts, icons, theme

_KEY = int(Qt.ItemDataRole.UserRole)
_NODES = _KEY + 1
_FIGURE_WIDTHS = {2: 48, 3: 78}
"""Widths of the columns with figures."""
_TITLE_SHARE = 0.55
"""Share of the remaining width that titles get."""
_MIN_WIDTH = 230
"""Width in pixels below which the column of locations is hidden."""
_MAX_EXPANDED_SEGMENTS = 4
"""Number of segments up to which all are expanded."""


class RowKey(NamedTuple):
    """Identifies a row, also after the tree was rebuilt."""

    kind: Literal["breaks", "break", "segment", "kernel", "ops", "op", "recompiles", "recompile"]
    number: int = 0
    """Number of the segment, from 1; index of a break or recompile, from 0."""
    part: int = 0
    """Number of a generated kernel in its segment, from 1; index of an op among the segment's kernels."""


class StepOutline(QTreeWidget):
    chosen = Signal(object)
    """Key of the row that the user selected."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setHeaderLabels(["Compiled step", "Where", "Ops", "Time"])
        self.setProperty("role", "outline")
        self.setUniformRowHeights(True)
        self.setIndentation(16)
        self.setIconSize(QSize(16, 16))
        self.setSelectionMode(QTreeWidget.SelectionMode.ExtendedSelection)
        self.setAccessibleName("Compiled step")
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        header = self.header()
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(36)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        for column, width in _FIGURE_WIDTHS.items():
            header.resizeSection(column, width)
        for column in (2, 3):
            self.headerItem().setTextAlignment(column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.currentItemChanged.connect(self._emit_chosen)
        theme.manager().changed.connect(self._apply_theme)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = self.viewport().width()
        self.setColumnHidden(2, width < _MIN_WIDTH + 60)
        room = width - sum(_FIGURE_WIDTHS[column] for column in _FIGURE_WIDTHS if not self.isColumnHidden(column))
        self.setColumnHidden(1, room < _MIN_WIDTH)
        self.header().resizeSection(0, room if room < _MIN_WIDTH else round(max(_TITLE_SHARE * room, 130)))

    # -- filling

    def show_explanation(self, explanation: Explanation) -> None:
        """Show an explanation and keep the selection and the expanded rows."""
        selected, expanded = self.key, {key for key, item in self._items() if item.isExpanded()}
        is_first = not self.topLevelItemCount()
        self.blockSignals(True)
        self.clear()
        self._add_breaks(explanation)
        is_short = len(explanation.segments) <= _MAX_EXPANDED_SEGMENTS
        for segment in explanation.segments:
            item = self._add_segment(segment)
            item.setExpanded(is_short if is_first else _key(item) in expanded)
        self._add_recompiles(explanation)
        for key, item in list(self._items()):
            if key in expanded:
                item.setExpanded(True)
        if selected is not None:
            self._select_row(selected)
        self.blockSignals(False)

    def _add_breaks(self, explanation: Explanation) -> None:
        if not explanation.breaks:
            row = self._row(None, RowKey("breaks"), "No graph breaks", icon=icons.themed("ok", "ok"))
            row.setFirstColumnSpanned(True)
            return
        causes = f"{len(explanation.breaks)} {'cause' if len(explanation.breaks) == 1 else 'causes'}"
        lost = sum(cause.seconds for cause in explanation.breaks)
        top = self._row(
            None, RowKey("breaks"), "Graph breaks", causes, f"{sum(cause.count for cause in explanation.breaks)}×",
            number_format.milliseconds(lost), icon=icons.themed("bridge", "warning"),
        )  # fmt: skip
        for index, cause in enumerate(explanation.breaks):
            row = self._row(
                top, RowKey("break", index), REASONS[cause.reason].title, location_text(cause.line), f"{cause.count}×",
                number_format.milliseconds(cause.seconds), nodes=nodes_of(cause.line),
                icon=icons.themed("warning", "warning"),
            )  # fmt: skip
            row.setToolTip(0, cause.what[:1].upper() + cause.what[1:])
        top.setExpanded(True)

    def _add_segment(self, segment: SegmentInfo) -> QTreeWidgetItem:
        generated = [kernel for kernel in segment.kernels if kernel.kind == "kernel"]
        is_fused = segment.how == "fused"
        kernels = number_format.count(len(generated), "kernels") if is_fused else execution_text(segment.how)
        top = self._row(
            None, RowKey("segment", segment.number), f"Region {segment.number}", kernels,
            f"{len(segment.operations):,}", number_format.milliseconds(segment.seconds),
            icon=region_icon(segment.number),
        )  # fmt: skip
        for number, kernel in enumerate(generated, start=1):
            self._add_kernel(top, segment.number, number, kernel)
        calls = [(index, kernel) for index, kernel in enumerate(segment.kernels) if kernel.kind == "call"]
        if calls:
            title = f"Ops without a generated kernel ({len(calls)})"
            group = self._row(top, RowKey("ops", segment.number), title, icon=icons.themed("chip", "text-dim"))
            group.setFirstColumnSpanned(True)
            for index, kernel in calls:
                nodes = nodes_of_kernel(kernel)
                key = RowKey("op", segment.number, index)
                row = self._row(group, key, kernel.ops[0], ", ".join(nodes), nodes=nodes)
                row.setToolTip(0, kernel.note or "NumPy or a hand-written kernel computes this op")
        return top

    def _add_kernel(self, top: QTreeWidgetItem, segment: int, number: int, kernel: KernelInfo) -> None:
        nodes = nodes_of_kernel(kernel)
        row = self._row(
            top, RowKey("kernel", segment, number), f"Kernel {number}", ", ".join(nodes), f"{len(kernel.ops)}",
            nodes=nodes, icon=region_icon(segment, number),
        )  # fmt: skip
        row.setToolTip(0, " + ".join(kernel.ops))
        if kernel.note:
            row.setText(3, "compiling" if kernel.is_compiling else "failed")
            row.setToolTip(3, kernel.note)

    def _add_recompiles(self, explanation: Explanation) -> None:
        if not explanation.recompiles:
            return
        top = self._row(
            None,
            RowKey("recompiles"),
            "Recompiles",
            "",
            f"{len(explanation.recompiles)}",
            icon=icons.themed("reset", "text-dim"),
        )
        for index, recompile in enumerate(explanation.recompiles):
            reason = recompile.differences[0] if recompile.differences else recompile.got
            key, nodes = RowKey("recompile", index), nodes_of(recompile.line)
            row = self._row(top, key, f"Call {recompile.call}", reason, nodes=nodes)
            row.setToolTip(1, reason)

    def _row(
        self,
        parent: QTreeWidgetItem | None,
        key: RowKey,
        title: str,
        where: str = "",
        ops: str = "",
        time: str = "",
        *,
        nodes: tuple[str, ...] = (),
        icon: QIcon | None = None,
    ) -> QTreeWidgetItem:
        item = QTreeWidgetItem([title, where, ops, time])
        item.setData(0, _KEY, tuple(key))
        item.setData(0, _NODES, nodes)
        if icon is not None:
            item.setIcon(0, icon)
        if where:
            item.setToolTip(1, where)
        for column in (2, 3):
            item.setTextAlignment(column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            item.setFont(column, fonts.interface(12))
        item.setForeground(1, theme.current().color("text-dim"))
        if parent is None:
            self.addTopLevelItem(item)
        else:
            parent.addChild(item)
        return item

    # -- selection

    @property
    def key(self) -> RowKey | None:
        """Key of the current row."""
        item = self.currentItem()
        return None if item is None else _key(item)

    def go_to(self, key: RowKey) -> None:
        """Select a row and emit `chosen`."""
        self.clearSelection()
        if self._select_row(key):
            self.chosen.emit(key)

    def mark_nodes(self, names: Iterable[str]) -> RowKey | None:
        """Select the kernels of canvas nodes without emitting `chosen`. Returns the first key, or None."""
        owners = frozenset(names)
        rows = [item for key, item in self._items() if key.kind in ("kernel", "op") and owners & set(_nodes(item))]
        generated = [item for item in rows if _key(item).kind == "kernel"]
        rows = generated or rows
        self.blockSignals(True)
        self.clearSelection()
        if rows:
            self.setCurrentItem(rows[0], 0, QItemSelectionModel.SelectionFlag.NoUpdate)
            for item in rows:
                item.setSelected(True)
            self.scrollToItem(rows[0])
        self.blockSignals(False)
        self.viewport().update()
        return _key(rows[0]) if rows else None

    def nodes_of(self, key: RowKey) -> tuple[str, ...]:
        """The canvas nodes of a row."""
        return next((_nodes(item) for key_of_item, item in self._items() if key_of_item == key), ())

    def _select_row(self, key: RowKey) -> bool:
        for key_of_item, item in self._items():
            if key_of_item == key:
                self.setCurrentItem(item)
                self.scrollToItem(item)
                return True
        return False

    def _emit_chosen(self, item: QTreeWidgetItem | None) -> None:
        if item is not None:
            self.chosen.emit(_key(item))

    def _apply_theme(self, *_: object) -> None:
        for _, item in self._items():
            item.setForeground(1, theme.current().color("text-dim"))
        self.viewport().update()

    def _items(self) -> Iterator[tuple[RowKey, QTreeWidgetItem]]:
        walk = QTreeWidgetItemIterator(self)
        while (item := walk.value()) is not None:
            yield _key(item), item
            walk += 1


def _key(item: QTreeWidgetItem) -> RowKey:
    return RowKey(*item.data(0, _KEY))


def _nodes(item: QTreeWidgetItem) -> tuple[str, ...]:
    return tuple(item.data(0, _NODES) or ())


__all__ = ["RowKey", "StepOutline"]
