"""The states of the edit history as rows: title, icon, time, and what is special about a state."""

from __future__ import annotations

import time
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from studio.document.edit_history import History, HistoryEntry
from studio.ui.project.project_store import ProjectStore

Index = QModelIndex | QPersistentModelIndex

ICONS = {
    "Add": "add",
    "Align": "align-left",
    "Collapse": "chevron-up",
    "Color": "swatch",
    "Compile": "compile",
    "Connect": "link",
    "Cut": "cut",
    "Delete": "trash",
    "Disconnect": "bridge",
    "Distribute": "distribute-x",
    "Duplicate": "duplicate",
    "Frame": "frame",
    "Freeze": "frozen",
    "Group": "block",
    "Insert": "add",
    "Lay": "layout",
    "Move": "layout",
    "Mute": "mute",
    "New": "new",
    "Open": "open",
    "Paste": "paste",
    "Recompute": "recomputed",
    "Reconnect": "link",
    "Reload": "reset",
    "Reset": "reset",
    "Restore": "runs",
    "Unpack": "block",
}
"""Icon by the first word of a title; other edits have a pen."""

ENTRY, ICON, IS_SAVED, IS_UNDONE, IS_CURRENT = (Qt.ItemDataRole.UserRole + number for number in range(5))


class HistoryModel(QAbstractListModel):
    """One row per state, the oldest first."""

    def __init__(self, store: ProjectStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._count = len(self._history)
        self._saved = self._saved_row

    @property
    def _history(self) -> History:
        return self._store.history

    @property
    def _saved_row(self) -> int | None:
        """The state in the project file; None without a file."""
        return None if self._store.path is None else self._history.saved_position

    def refresh(self) -> None:
        """Show the present states."""
        count = len(self._history)
        self._saved = self._saved_row
        if count > self._count:
            self.beginInsertRows(QModelIndex(), self._count, count - 1)
            self._count = count
            self.endInsertRows()
        elif count < self._count:
            self.beginRemoveRows(QModelIndex(), count, self._count - 1)
            self._count = count
            self.endRemoveRows()
        self.dataChanged.emit(self.index(0), self.index(count - 1))

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else self._count

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not 0 <= index.row() < len(self._history):
            return None
        entry, row = self._history.entry(index.row()), index.row()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return entry.title
            case Qt.ItemDataRole.ToolTipRole:
                return "\n".join(self._description(entry, row))
            case Qt.ItemDataRole.AccessibleTextRole:
                return ", ".join(self._description(entry, row))
            case _:
                return {
                    ENTRY: entry,
                    ICON: ICONS.get(entry.title.partition(" ")[0], "edit"),
                    IS_SAVED: row == self._saved,
                    IS_UNDONE: row > self._history.position,
                    IS_CURRENT: row == self._history.position,
                }.get(role)

    def _description(self, entry: HistoryEntry, row: int) -> list[str]:
        return [
            entry.title,
            time.strftime("%d %b, %H:%M:%S", time.localtime(entry.time)),
            *(["current state"] if row == self._history.position else []),
            *(["saved state"] if row == self._saved else []),
            *(["undone: Redo restores it"] if row > self._history.position else []),
            *([replaced_text(entry)] if entry.replaced else []),
        ]


def replaced_text(entry: HistoryEntry) -> str:
    """How many undone edits an edit replaced."""
    return f"replaced {entry.replaced} undone edit{'s' if entry.replaced > 1 else ''}"
