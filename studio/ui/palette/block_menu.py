"""Managing blocks in the palette panel: a context menu, F2 to rename and Del to delete."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt
from PySide6.QtGui import QKeyEvent, QStandardItem
from PySide6.QtWidgets import QMenu, QTreeView

from studio.document import SUFFIX
from studio.document.blocks.block_library import LibraryBlock
from studio.lowering.analysis.library_types import LibraryType
from studio.nodes.types import NodeType, Role
from studio.ui import dialogs
from studio.ui.palette.node_type_tree import NodeTypeTree
from studio.ui.project.block_library_actions import BlockLibraryActions
from studio.ui.theme import icons


class BlockMenu(QObject):
    """Of the rows of one tree."""

    def __init__(self, tree: QTreeView, model: NodeTypeTree, actions: BlockLibraryActions) -> None:
        super().__init__(tree)
        self._tree, self._model, self._actions = tree, model, actions
        tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        tree.customContextMenuRequested.connect(self._open)
        tree.setEditTriggers(QTreeView.EditTrigger.NoEditTriggers)
        tree.installEventFilter(self)
        model.itemChanged.connect(self._renamed)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            index = self._tree.currentIndex()
            entry = _entry(self._model.kind(index))
            if entry is not None and entry.library == "user":
                if event.key() == Qt.Key.Key_F2:
                    self._rename(index)
                    return True
                if event.key() == Qt.Key.Key_Delete:
                    self._actions.delete(entry.name)
                    return True
        return super().eventFilter(watched, event)

    def _open(self, position: QPoint) -> None:
        index = self._tree.indexAt(position)
        menu = self.menu(index)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self._tree.viewport().mapToGlobal(position))

    def menu(self, index: QModelIndex) -> QMenu:
        """The menu of a row."""
        menu, kind = QMenu(self._tree), self._model.kind(index)
        entry = _entry(kind)
        if entry is not None and entry.library == "user":
            rename = menu.addAction("Rename", partial(self._rename, index))
            rename.setShortcut(Qt.Key.Key_F2)
            delete = menu.addAction(
                icons.themed("trash", "text"), "Delete from library", partial(self._actions.delete, entry.name)
            )
            delete.setShortcut(Qt.Key.Key_Delete)
        elif entry is None and kind is not None and kind.role is Role.BLOCK:
            save = partial(self._actions.save, kind.key.partition(".")[2])
            menu.addAction(icons.themed("save", "text"), "Save to library", save)
        if entry is not None:
            menu.addAction("Export…", partial(self._export, entry))
        if not menu.isEmpty():
            menu.addSeparator()
        menu.addAction("Import block to library…", self._import)
        return menu

    def _rename(self, index: QModelIndex) -> None:
        item = self._model.itemFromIndex(index)
        self._model.blockSignals(True)
        item.setEditable(True)
        self._model.blockSignals(False)
        self._tree.edit(index)

    def _renamed(self, item: QStandardItem) -> None:
        entry = _entry(self._model.kind(item.index()))
        if entry is not None and item.text() != entry.name:
            self._actions.rename(entry.name, item.text().strip())

    def _export(self, entry: LibraryBlock) -> None:
        path = dialogs.path_to_save(self._tree, Path(f"{entry.name}{SUFFIX}"))
        if path is not None:
            self._actions.export(entry, path)

    def _import(self) -> None:
        for path in dialogs.paths_to_open(self._tree, None):
            self._actions.import_file(path)


def _entry(kind: NodeType | None) -> LibraryBlock | None:
    return kind.entry if isinstance(kind, LibraryType) else None
