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
from studio.ui.panels.compile.detail import place
from studio.ui.panels.compile.swatch import swatch
from studio.ui.theme import fonts, icons, theme

_KEY = int(Qt.ItemDataRole.UserRole)
_NODES = _KEY + 1
_NARROW = {2: 48, 3: 78}
"""Widths of the columns with figures."""
_TITLES = 0.62
"""Share of the remaining width that titles get."""
_LEAST = 230
"""Width in pixels below which the column of locations is hidden."""
_FEW = 4
"""Number of segments up to which all are expanded."""


class Key(NamedTuple):
    """Identifies a row, also after the tree was rebuilt."""

    kind: Literal["breaks", "break", "segment", "kernel", "own", "owns", "recompiles", "recompile"]
    number: int = 0
    """Number of the segment, from 1; index of a break or recompile, from 0."""
    part: int = 0
    """Number of a generated kernel in its segment, from 1; index of an op among the segment's kernels."""


class Outline(QTreeWidget):
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
        for column, width in _NARROW.items():
            header.resizeSection(column, width)
        for column in (2, 3):
            self.headerItem().setTextAlignment(column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.currentItemChanged.connect(self._tell)
        theme.manager().changed.connect(self._paint_anew)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = self.viewport().width()
        self.setColumnHidden(2, width < _LEAST + 60)
        room = width - sum(_NARROW[column] for column in _NARROW if not self.isColumnHidden(column))
        self.setColumnHidden(1, room < _LEAST)
        self.header().resizeSection(0, room if room < _LEAST else round(max(_TITLES * room, 150)))

    # -- filling

    def show_explanation(self, found: Explanation) -> None:
        """Show an explanation; the selection and expanded rows are kept."""
        kept, opened = self.key, {key for key, item in self._items() if item.isExpanded()}
        is_first = not self.topLevelItemCount()
        self.blockSignals(True)
        self.clear()
        self._add_breaks(found)
        for segment in found.segments:
            item = self._add_segment(segment)
            item.setExpanded(len(found.segments) <= _FEW if is_first else _key(item) in opened)
        self._add_recompiles(found)
        for key, item in list(self._items()):
            if key in opened:
                item.setExpanded(True)
        if kept is not None:
            self._go_to(kept)
        self.blockSignals(False)

    def _add_breaks(self, found: Explanation) -> None:
        if not found.breaks:
            self._row(None, Key("breaks"), "No graph breaks", icon=icons.themed("ok", "ok")).setFirstColumnSpanned(True)
            return
        causes = f"{len(found.breaks)} {'cause' if len(found.breaks) == 1 else 'causes'}"
        lost = sum(one.seconds for one in found.breaks)
        top = self._row(
            None, Key("breaks"), "Graph breaks", causes, f"{sum(one.count for one in found.breaks)}×",
            number_format.milliseconds(lost), icon=icons.themed("bridge", "warning"),
        )  # fmt: skip
        for index, one in enumerate(found.breaks):
            row = self._row(
                top, Key("break", index), REASONS[one.reason].title, place(one.line), f"{one.count}×",
                number_format.milliseconds(one.seconds), nodes=nodes_of(one.line),
                icon=icons.themed("warning", "warning"),
            )  # fmt: skip
            row.setToolTip(0, one.what[:1].upper() + one.what[1:])
        top.setExpanded(True)

    def _add_segment(self, segment: SegmentInfo) -> QTreeWidgetItem:
        made = [kernel for kernel in segment.kernels if kernel.kind == "kernel"]
        kernels = number_format.count(len(made), "kernels") if segment.how == "fused" else execution_text(segment.how)
        top = self._row(
            None, Key("segment", segment.number), f"Segment {segment.number}", kernels, f"{len(segment.operations):,}",
            number_format.milliseconds(segment.seconds), icon=swatch(segment.number),
        )  # fmt: skip
        for number, kernel in enumerate(made, start=1):
            self._add_kernel(top, segment.number, number, kernel)
        own = [(place_, kernel) for place_, kernel in enumerate(segment.kernels) if kernel.kind == "call"]
        if own:
            title = f"Ops without generated kernel ({len(own)})"
            group = self._row(top, Key("owns", segment.number), title, icon=icons.themed("chip", "text-dim"))
            group.setFirstColumnSpanned(True)
            for place_, kernel in own:
                nodes = nodes_of_kernel(kernel)
                row = self._row(group, Key("own", segment.number, place_), kernel.ops[0], ", ".join(nodes), nodes=nodes)
                row.setToolTip(0, kernel.note or "NumPy or a hand-written kernel computes this op")
        return top

    def _add_kernel(self, top: QTreeWidgetItem, segment: int, number: int, kernel: KernelInfo) -> None:
        nodes = nodes_of_kernel(kernel)
        row = self._row(
            top, Key("kernel", segment, number), f"Kernel {number}", ", ".join(nodes), f"{len(kernel.ops)}",
            nodes=nodes, icon=swatch(segment, number),
        )  # fmt: skip
        row.setToolTip(0, " + ".join(kernel.ops))
        if kernel.note:
            row.setText(3, "compiling")
            row.setToolTip(3, kernel.note)

    def _add_recompiles(self, found: Explanation) -> None:
        if not found.recompiles:
            return
        top = self._row(
            None,
            Key("recompiles"),
            "Recompiles",
            "",
            f"{len(found.recompiles)}",
            icon=icons.themed("reset", "text-dim"),
        )
        for index, one in enumerate(found.recompiles):
            why = one.differences[0] if one.differences else one.got
            row = self._row(top, Key("recompile", index), f"Call {one.call}", why, nodes=nodes_of(one.line))
            row.setToolTip(1, why)

    def _row(
        self,
        parent: QTreeWidgetItem | None,
        key: Key,
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

    # -- choosing

    @property
    def key(self) -> Key | None:
        """Key of the current row."""
        item = self.currentItem()
        return None if item is None else _key(item)

    def go_to(self, key: Key) -> None:
        """Select a row as if the user had selected it."""
        self.clearSelection()
        if self._go_to(key):
            self.chosen.emit(key)

    def mark_nodes(self, names: Iterable[str]) -> Key | None:
        """Select the kernels of canvas nodes without emitting `chosen`. Returns the first key, or None."""
        wanted = frozenset(names)
        rows = [item for key, item in self._items() if key.kind in ("kernel", "own") and wanted & set(_nodes(item))]
        made = [item for item in rows if _key(item).kind == "kernel"]
        rows = made or rows
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

    def nodes_of(self, key: Key) -> tuple[str, ...]:
        """The canvas nodes of a row."""
        return next((_nodes(item) for found, item in self._items() if found == key), ())

    def _go_to(self, key: Key) -> bool:
        for found, item in self._items():
            if found == key:
                self.setCurrentItem(item)
                self.scrollToItem(item)
                return True
        return False

    def _tell(self, item: QTreeWidgetItem | None) -> None:
        if item is not None:
            self.chosen.emit(_key(item))

    def _paint_anew(self, *_: object) -> None:
        for _, item in self._items():
            item.setForeground(1, theme.current().color("text-dim"))
        self.viewport().update()

    def _items(self) -> Iterator[tuple[Key, QTreeWidgetItem]]:
        walk = QTreeWidgetItemIterator(self)
        while (item := walk.value()) is not None:
            yield _key(item), item
            walk += 1


def _key(item: QTreeWidgetItem) -> Key:
    return Key(*item.data(0, _KEY))


def _nodes(item: QTreeWidgetItem) -> tuple[str, ...]:
    return tuple(item.data(0, _NODES) or ())


__all__ = ["Key", "Outline"]
