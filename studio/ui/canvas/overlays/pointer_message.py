"""A short text beside the pointer, such as the reason why a wire is refused."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QWidget

from studio.ui.theme.theme import ThemeManager
from studio.ui.widgets.announcement import announce

_MAX_WIDTH, _GAP, _DURATION_MS = 320, 16, 4000


class PointerMessage(QLabel):
    """Looks like a tooltip but stays visible during a drag."""

    def __init__(self, themes: ThemeManager, parent: QWidget) -> None:
        super().__init__(parent)
        self._themes = themes
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setWordWrap(True)
        self.setMargin(8)
        self._timer = QTimer(self, singleShot=True, interval=_DURATION_MS)
        self._timer.timeout.connect(self.hide)
        self.hide()

    def show_message(self, text: str, at: QPoint) -> None:
        """Show `text` beside a position in the parent; an empty text hides the message."""
        if text != self.text() or self.isHidden():
            announce(self, text)
        self.setText(text)
        if not text:
            self.hide()
            return
        parent = self.parentWidget()
        assert parent is not None
        width = min(self.fontMetrics().horizontalAdvance(text) + 2 * self.margin() + 4, _MAX_WIDTH)
        self.resize(width, self.heightForWidth(width))
        x = min(at.x() + _GAP, parent.width() - self.width() - 8)
        y = at.y() + _GAP if at.y() + _GAP + self.height() < parent.height() else at.y() - _GAP - self.height()
        self.move(max(x, 8), max(y, 8))
        self.show()
        self.raise_()
        self._timer.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(self._themes.color("border-strong"))
        painter.setBrush(self._themes.color("raised"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
        painter.end()
        super().paintEvent(event)
