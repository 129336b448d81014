"""The palette dock: node types to drag onto the canvas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QModelIndex, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QStackedLayout, QTreeView, QVBoxLayout, QWidget

from studio.nodes.types import NodeType
from studio.ui.palette.block_menu import BlockMenu
from studio.ui.palette.node_groups import by_rank, in_order
from studio.ui.palette.node_type_tree import NodeTypeTree
from studio.ui.palette.palette_delegate import PaletteDelegate
from studio.ui.palette.palette_offers import PaletteOffers
from studio.ui.project.block_library_actions import BlockLibraryActions
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme.theme import ThemeManager
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import quoted


class PalettePanel(QWidget):
    """A search field above a tree of node types. Enter or double-click adds a node at the center of the canvas."""

    requested = Signal(object)
    """The SearchMatch to add."""

    def __init__(
        self,
        store: ScopeStore,
        themes: ThemeManager,
        offers: PaletteOffers | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._offers = offers or PaletteOffers(store)
        self._opened: dict[str, bool] = {}
        """Headings that the user expanded or collapsed, by title."""
        self.setAccessibleName("Palette")
        self.field = LineEdit()
        self.field.setPlaceholderText("Search nodes")
        self.field.setAccessibleName("Search nodes")
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self._search)
        self.field.installEventFilter(self)
        self.model = NodeTypeTree(self)
        self.tree = _tree(self.model, PaletteDelegate(themes, wide=False, parent=self))
        self.tree.doubleClicked.connect(self._request)
        self.tree.clicked.connect(self._toggle)
        self.tree.collapsed.connect(partial(self._store_expanded, is_open=False))
        self.tree.expanded.connect(partial(self._store_expanded, is_open=True))
        self.tree.installEventFilter(self)
        self.empty = EmptyState(
            "search", "No matching nodes", "Try another word. The search covers titles, tags and keys."
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 0)
        column.setSpacing(8)
        column.addWidget(self.field)
        # The stack shows its first widget immediately; without a parent it would open as a window.
        self._stack = QStackedLayout()
        column.addLayout(self._stack, 1)
        self._stack.addWidget(self.tree)
        self._stack.addWidget(self.empty)
        themes.changed.connect(self._repaint)
        self._types: Sequence[NodeType] = ()
        store.document_changed.connect(self._refresh)
        if self._offers.libraries is not None:
            self._offers.libraries.changed.connect(self._refresh)
        self._search("")

    def manage_blocks(self, actions: BlockLibraryActions) -> None:
        """Add a context menu and keys that manage blocks."""
        self.block_menu = BlockMenu(self.tree, self.model, actions)
        actions.failed.connect(lambda _: self._search(self.field.text()))  # a refused name is shown as before

    def focus_search(self) -> None:
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                return self._enter()
            if watched is self.field and event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
                self.tree.setFocus(Qt.FocusReason.OtherFocusReason)
                return True
            if watched is self.field and event.key() == Qt.Key.Key_Escape and self.field.text():
                self.field.clear()
                return True
        return super().eventFilter(watched, event)

    def _search(self, text: str) -> None:
        offer = self._offers.anywhere(lists_equal=True)  # the menu of a row manages the library
        self._types = offer.types
        if text.strip():
            matches = offer.search(text)
            self.model.show(by_rank(match.kind for match in matches), {match.kind.key: match for match in matches})
        else:
            self.model.show(in_order(offer.types))
        with QSignalBlocker(self.tree):
            self._expand(searching=bool(text.strip()))
        leaves = self.model.leaves()
        if leaves and text.strip():
            self.tree.setCurrentIndex(leaves[0])
        self._stack.setCurrentWidget(self.tree if leaves else self.empty)
        self.empty.set_text(f"No nodes match {quoted(text)}", "The search covers titles, tags and keys.")

    def _refresh(self, *_: object) -> None:
        """Show the blocks of the project and the libraries and, inside a block, the nodes that it can contain."""
        if self._offers.types() != self._types:
            self._search(self.field.text())

    def _expand(self, *, searching: bool) -> None:
        """Restore the expanded state of headings, but expand all while searching."""
        for row in range(self.model.rowCount()):
            index = self.model.index(row, 0)
            group = self.model.group(index)
            self.tree.setExpanded(index, searching or group is None or self._opened.get(group.title, group.is_open))

    def _enter(self) -> bool:
        return self._request(self.tree.currentIndex())

    def _request(self, index: QModelIndex) -> bool:
        match = self.model.search_match(index)
        if match is not None:
            self.requested.emit(match)
        elif self.model.group(index) is not None:
            self.tree.setExpanded(index, not self.tree.isExpanded(index))
        return match is not None

    def _toggle(self, index: QModelIndex) -> None:
        """A click on a heading expands or collapses it."""
        if self.model.group(index) is not None:
            self.tree.setExpanded(index, not self.tree.isExpanded(index))

    def _store_expanded(self, index: QModelIndex, *, is_open: bool) -> None:
        if (group := self.model.group(index)) is not None and not self.field.text().strip():
            self._opened[group.title] = is_open

    def _repaint(self) -> None:
        self.tree.viewport().update()


def _tree(model: NodeTypeTree, delegate: PaletteDelegate) -> QTreeView:
    tree = QTreeView()
    tree.setModel(model)
    tree.setItemDelegate(delegate)
    tree.setHeaderHidden(True)
    tree.setIndentation(0)
    tree.setRootIsDecorated(False)
    tree.setExpandsOnDoubleClick(False)
    tree.setMouseTracking(True)
    tree.setDragEnabled(True)
    tree.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
    tree.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    tree.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    tree.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    tree.setAccessibleName("Node types")
    return tree
