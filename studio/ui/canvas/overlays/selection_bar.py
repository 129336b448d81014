"""The toolbar above several selected nodes."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from studio.ui.canvas.canvas_actions import CanvasActions
from studio.ui.canvas.layout.align_nodes import Axis, Edge
from studio.ui.theme.theme import ThemeManager
from studio.ui.widgets import buttons

_GAP = 14
_EDGES: tuple[tuple[Edge, str], ...] = (
    ("left", "Align left edges"),
    ("center", "Align horizontal centers"),
    ("right", "Align right edges"),
    ("top", "Align top edges"),
    ("middle", "Align vertical centers"),
    ("bottom", "Align bottom edges"),
)
_AXES: tuple[tuple[Axis, str], ...] = (("x", "Distribute horizontally"), ("y", "Distribute vertically"))


class SelectionBar(QWidget):
    """Buttons that align, distribute, lay out and group nodes. They do not take the focus from the canvas."""

    group_requested = Signal()
    """Turn the selected nodes into a block."""

    def __init__(self, actions: CanvasActions, themes: ThemeManager, parent: QWidget) -> None:
        super().__init__(parent)
        self._themes = themes
        self.setAccessibleName("Arrange the selected nodes")
        self.setCursor(Qt.CursorShape.ArrowCursor)
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 4, 4, 4)
        row.setSpacing(0)
        self.buttons = [
            *(buttons.icon_button(f"align-{edge}", tip, lambda edge=edge: actions.align(edge)) for edge, tip in _EDGES),
            *(
                buttons.icon_button(f"distribute-{axis}", tip, lambda axis=axis: actions.distribute(axis))
                for axis, tip in _AXES
            ),
            buttons.icon_button("layout", "Lay out", actions.lay_out),
            buttons.icon_button("block", "Group into block", self.group_requested.emit),
        ]
        for button in self.buttons:
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            row.addWidget(button)
        self.hide()

    def show_beside(self, selected: QRect, count: int) -> None:
        """Show the bar above `count` nodes with the bounds `selected`, or below without space; hide it out of view."""
        parent = self.parentWidget()
        assert parent is not None
        room = parent.rect().adjusted(8, 8, -8, -8)
        for button in self.buttons[6:8]:
            button.setEnabled(count > 2)
        self.setVisible(count > 1 and selected.intersects(room))
        size = self.sizeHint()
        top = selected.top() - _GAP - size.height()
        if top < room.top():
            top = min(selected.bottom() + _GAP, room.bottom() - size.height())
        left = selected.center().x() - size.width() // 2
        left = min(max(left, room.left()), room.right() - size.width())
        self.setGeometry(QRect(QPoint(left, top), size))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(self._themes.color("border"))
        painter.setBrush(self._themes.color("raised"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
