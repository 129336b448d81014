"""The card of a step, and the frame around the control that it points at."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QKeyEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPolygonF,
    QRegion,
)
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QVBoxLayout, QWidget

from studio.lessons.lesson import Step
from studio.ui.panels.lesson.lesson_text import plain_text
from studio.ui.theme import theme
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import label
from studio.ui.window.lessons.card_placement import ARROW, Placement, place_card
from studio.ui.window.lessons.step_targets import Area

_WIDTH, _EDGE = 330, 8
_DONE = "Done · "
_FRAME = 2
"""Width of the frame around the target, in pixels."""


class StepCard(QWidget):
    """Floats over the window beside the target, and takes the focus only if the user moves it there."""

    next_requested = Signal()
    back_requested = Signal()
    left = Signal()
    """The user hides the card. The panel of the lesson stays."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._placement: Placement | None = None
        self._frame: _TargetFrame | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Lesson step")
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.heading = label("", "heading", wrap=True)
        self.number = label("", "dim")
        self.text = label("", wrap=True)
        self.keys = label("", "small", wrap=True)
        self.skip = buttons.text_button("Hide card", self.left.emit, kind="link")
        self.skip.setToolTip("Show the steps in the Lesson panel only (Escape)")
        self.back = buttons.text_button("Back", self.back_requested.emit)
        self.next = buttons.text_button("Next", self.next_requested.emit, kind="primary")
        head, row = QHBoxLayout(), QHBoxLayout()
        head.addWidget(self.heading, 1)
        head.addWidget(self.number, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.skip)
        row.addStretch(1)
        row.addWidget(self.back)
        row.addWidget(self.next)
        column = QVBoxLayout(self)
        margin = ARROW + 12
        column.setContentsMargins(margin, margin, margin, margin)
        column.setSpacing(8)
        column.addLayout(head)
        column.addWidget(self.text)
        column.addWidget(self.keys)
        column.addSpacing(4)
        column.addLayout(row)
        self.hide()

    @property
    def has_focus(self) -> bool:
        """Whether the card or one of its buttons has the focus."""
        focused = QApplication.focusWidget()
        return focused is not None and (focused is self or self.isAncestorOf(focused))

    def show_step(self, step: Step, index: int, count: int, *, is_done: bool) -> None:
        """Show the title of a step and what to do, the last paragraph of its text, and announce them.

        The palette covers the Lesson panel. Then the card shows the whole text, unless a prediction was made there.
        """
        is_covered = step.target == "palette" and step.prediction is None
        text = plain_text(step.text if is_covered else step.text.rsplit("\n\n", 1)[-1])
        is_last = index + 1 == count
        number = f"{index + 1} of {count}"
        self.heading.setText(step.title)
        self.number.setText(number)
        self.text.setText(text)
        self.keys.setText(step.keys)
        self.keys.setVisible(bool(step.keys))
        self.back.setEnabled(index > 0)
        self.next.setText("Finish" if is_last else "Next")
        self._emphasize_next(is_done or step.is_read_only)
        self.setAccessibleName(f"Lesson, step {number}: {step.title}")
        self.setAccessibleDescription(" ".join(filter(None, (text, step.keys, "Enter: next. Escape: hide the card."))))
        if is_done:
            self.show_done()
        self._placement = None
        QAccessible.updateAccessibility(
            QAccessibleAnnouncementEvent(self, f"{self.accessibleName()}. {self.accessibleDescription()}")
        )

    def show_done(self) -> None:
        """Mark the step as done."""
        if not self.number.text().startswith(_DONE):
            self.number.setText(f"{_DONE}{self.number.text()}")
        self._emphasize_next(True)

    def _emphasize_next(self, is_next: bool) -> None:
        """Color the button only if going on is what the learner does next, as in the Lesson panel."""
        kind = "primary" if is_next else ""
        if self.next.property("kind") != kind:
            self.next.setProperty("kind", kind)
            self.next.style().polish(self.next)

    def point_at(self, area: Area | None, avoided: QRect | None = None, refuge: QPoint | None = None) -> None:
        """Show the card beside an area, or in a corner of the window without one; see `place_card`."""
        if area is not None:
            self._show_frame(area)
        elif self._frame is not None:
            self._frame.hide()
        room = self._window.rect().adjusted(_EDGE, _EDGE, -_EDGE, -_EDGE)
        target = None
        if area is not None:
            corner = self._window.mapFromGlobal(area.widget.mapToGlobal(area.rect.topLeft()))
            target = QRect(corner, area.rect.size()).intersected(self._window.rect())
            target = target.adjusted(-area.margin, -area.margin, area.margin, area.margin)
        width = min(_WIDTH, room.width())
        placement = place_card(QSize(width, self.heightForWidth(width)), target, room, avoided, refuge)
        if placement != self._placement:
            self._placement = placement
            self.setGeometry(placement.rect)
            self.update()
        self.show()
        self.raise_()

    def hide_card(self) -> None:
        """Hide the card and the frame around the target."""
        self.hide()
        if self._frame is not None:
            self._frame.hide()

    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        return layout.totalHeightForWidth(width) if layout is not None else -1

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Escape:
                self.left.emit()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_Right:
                self.next_requested.emit()
            case Qt.Key.Key_Left if self.back.isEnabled():
                self.back_requested.emit()
            case _:
                super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(self.rect()).adjusted(ARROW, ARROW, -ARROW, -ARROW), 8, 8)
        if self._placement is not None and self._placement.tip is not None:
            outline = outline.united(_arrow(self._placement, QRectF(self.rect())))
        painter.setBrush(colors.color("raised"))
        painter.setPen(QPen(colors.color("accent"), 2 if self.hasFocus() else 1))
        painter.drawPath(outline)

    def _show_frame(self, area: Area) -> None:
        window = area.widget.window()
        if self._frame is None:
            self._frame = _TargetFrame(window)
        elif self._frame.parentWidget() is not window:
            self._frame.setParent(window)
        corner = area.widget.mapTo(window, area.rect.topLeft())
        self._frame.surround(QRect(corner, area.rect.size()))


class _TargetFrame(QFrame):
    """A frame around the target, which does not take clicks and covers nothing inside it."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def surround(self, target: QRect) -> None:
        parent = self.parentWidget()
        assert parent is not None
        rect = target.adjusted(-_FRAME, -_FRAME, _FRAME, _FRAME).intersected(parent.rect())
        if rect != self.geometry() or not self.isVisible():
            self.setGeometry(rect)
            inner = self.rect().adjusted(_FRAME, _FRAME, -_FRAME, -_FRAME)
            self.setMask(QRegion(self.rect()).subtracted(QRegion(inner)))
            self.show()
            self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), theme.current().color("accent"))


def _arrow(placement: Placement, rect: QRectF) -> QPainterPath:
    """The triangle from the edge of the card to its tip."""
    assert placement.tip is not None
    tip = QPointF(placement.tip - placement.rect.topLeft())
    half, base = 7.0, ARROW + 1.0
    if placement.side in ("left", "right"):
        x = rect.right() - base if placement.side == "left" else base
        points = [tip, QPointF(x, tip.y() - half), QPointF(x, tip.y() + half)]
    else:
        y = rect.bottom() - base if placement.side == "above" else base
        points = [tip, QPointF(tip.x() - half, y), QPointF(tip.x() + half, y)]
    path = QPainterPath()
    path.addPolygon(QPolygonF(points))
    path.closeSubpath()
    return path
