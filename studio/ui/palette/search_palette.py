"""The search palette on the canvas: type to search, select with the arrow keys, press Enter to add the node.

Words after the name set parameters: `conv 64 k3`. Shift+Enter adds the node and stays open for the next one.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QLabel, QTreeView, QVBoxLayout, QWidget

from studio.nodes.types import NodeType
from studio.ui.palette.node_groups import by_rank, in_order, suggested
from studio.ui.palette.node_type_tree import NodeTypeTree
from studio.ui.palette.palette_delegate import HEADING, ROW, PaletteDelegate
from studio.ui.palette.palette_offers import Offer
from studio.ui.theme.theme import ThemeManager
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import label, quoted

WIDTH = 480
MAX_HEIGHT = 380
_STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 8, Qt.Key.Key_PageUp: -8}


class SearchPalette(QWidget):
    """Floats over its parent. It closes when a type is chosen, on Escape or Tab, and when it loses the focus."""

    chosen = Signal(object, bool)
    """The SearchMatch, and whether the palette stays open."""
    closed = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget) -> None:
        super().__init__(parent)
        self._themes = themes
        self._offer = Offer(())
        self._position = QPoint()
        self.setObjectName("search-palette")
        self.setAccessibleName("Add a node")
        self.field = LineEdit()
        self.field.setAccessibleName("Search nodes")
        self.field.textChanged.connect(self._search)
        self.field.installEventFilter(self)
        self.model = NodeTypeTree(self)
        self.tree = _tree(self.model, PaletteDelegate(themes, wide=True, parent=self))
        self.tree.clicked.connect(self._choose)
        self.note = label("", "dim", wrap=True)
        self.note.setContentsMargins(12, 8, 12, 8)
        self.keys = QLabel("Enter adds · Shift+Enter continues · conv 64 k3 sets sizes")
        self.keys.setProperty("role", "dim")
        self.keys.setContentsMargins(12, 2, 12, 2)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(4)
        column.addWidget(self.field)
        column.addWidget(self.tree, 1)
        column.addWidget(self.note)
        column.addWidget(self.keys)
        themes.changed.connect(self._repaint)
        self.hide()

    def open_at(self, position: QPoint, offer: Offer) -> None:
        """Open at `position` (parent coordinates) with some node types, or show others if it is open."""
        self._offer = offer
        self._position = position
        self.field.setPlaceholderText(offer.hint)
        self.field.setAccessibleDescription(offer.hint)
        self.field.clear()
        self._search("")
        self.show()
        self.raise_()
        self.field.setFocus(Qt.FocusReason.PopupFocusReason)

    def close_palette(self) -> None:
        if self.isVisible():
            self.hide()
            self.closed.emit()

    @property
    def current(self) -> NodeType | None:
        return self.model.kind(self.tree.currentIndex())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut and self.isVisible():
            self.close_palette()
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._key(event)
        return super().eventFilter(watched, event)

    def _key(self, event: QKeyEvent) -> bool:
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Escape, Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            self.close_palette()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._choose(self.tree.currentIndex(), stays_open=shift)
        elif key in _STEPS:
            self._step(_STEPS[key])
        else:
            return False
        return True

    def _step(self, steps: int) -> None:
        leaves = self.model.leaves()
        if not leaves:
            return
        rows = {(leaf.parent().row(), leaf.row()): number for number, leaf in enumerate(leaves)}
        here = self.tree.currentIndex()
        number = rows.get((here.parent().row(), here.row()), 0) + steps
        wraps = abs(steps) == 1
        number = number % len(leaves) if wraps else min(max(number, 0), len(leaves) - 1)
        self.tree.setCurrentIndex(leaves[number])
        if number == 0:
            self.tree.scrollToTop()
        self._announce_current()

    def _search(self, text: str) -> None:
        offer = self._offer
        if text.strip():
            matches = offer.search(text)
            groups = by_rank(match.kind for match in matches)
            self.model.show(groups, {match.kind.key: match for match in matches})
        else:
            groups = (*suggested(offer.suggested), *in_order(offer.types))
            self.model.show(groups)
        self.tree.expandAll()
        leaves = self.model.leaves()
        if leaves:
            self.tree.setCurrentIndex(leaves[0])
        self.tree.scrollToTop()
        self.tree.setVisible(bool(leaves))
        self.note.setVisible(not leaves)
        self.note.setText(f"No nodes match {quoted(text)}" if text.strip() else "No compatible nodes")
        self._arrange(len(groups), len(leaves))
        self._announce_current()

    def _announce_current(self) -> None:
        """Let screen readers say the current type, while the focus stays in the field."""
        if self.isVisible():
            text = self.tree.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole)
            announce(self.field, text or self.note.text())

    def _arrange(self, headings: int, rows: int) -> None:
        """Fit the height to the content, within the parent."""
        content = headings * HEADING + rows * ROW + 4 if rows else self._note_height() + 12
        height = min(content + self.field.sizeHint().height() + self.keys.sizeHint().height() + 28, MAX_HEIGHT)
        parent = self.parentWidget()
        assert parent is not None
        room = parent.rect().adjusted(8, 8, -8, -8)
        rect = QRect(self._position, QSize(WIDTH, height).boundedTo(room.size()))
        rect.moveLeft(min(max(rect.left(), room.left()), room.right() - rect.width()))
        # Reserve the maximum height, so that the field does not move while typing.
        top = min(self._position.y(), room.bottom() - MAX_HEIGHT)
        rect.moveTop(max(top, room.top()))
        self.setGeometry(rect)

    def _note_height(self) -> int:
        parent = self.parentWidget()
        assert parent is not None
        return self.note.heightForWidth(min(WIDTH, parent.width() - 16) - 16)

    def _choose(self, index: QModelIndex, *, stays_open: bool = False) -> None:
        match = self.model.search_match(index)
        if match is not None:
            if not stays_open:
                self.close_palette()
            self.chosen.emit(match, stays_open)

    def _repaint(self) -> None:
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(self._themes.color("border-strong"))
        painter.setBrush(self._themes.color("surface"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)


def _tree(model: NodeTypeTree, delegate: PaletteDelegate) -> QTreeView:
    tree = QTreeView()
    tree.setModel(model)
    tree.setItemDelegate(delegate)
    tree.setHeaderHidden(True)
    tree.setRootIsDecorated(False)
    tree.setIndentation(0)
    tree.setItemsExpandable(False)
    tree.setMouseTracking(True)
    tree.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    tree.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    tree.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    tree.setFrameShape(QFrame.Shape.NoFrame)
    tree.setStyleSheet("background: transparent")
    tree.setAccessibleName("Node types")
    return tree
