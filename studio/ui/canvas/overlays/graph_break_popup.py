"""The popup of a graph break on the canvas: its reason and cost, a rewrite of the code, and what a step gains by it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, QPointF, QRect, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from engine.compiler.break_reasons import REASONS
from engine.compiler.explanation import GraphBreak
from studio.lowering.user_code.graph_breaks.mended_code import MendedCode, Unmended
from studio.ui import number_format
from studio.ui.project.graph_break_mender import AppliedRewrite, GraphBreakMender
from studio.ui.widgets import buttons
from studio.ui.widgets.code_difference import CodeDifference
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label

_WIDTH = 540
_MARGIN = 8
_GAP = 6
_MIN_CODE_HEIGHT = 44


class GraphBreakPopup(QFrame):
    details_requested = Signal(int)
    """The Compile panel should show the break with an index."""
    closed = Signal()

    def __init__(self, mender: GraphBreakMender, to_view: Callable[[QPointF], QPointF], parent: QWidget) -> None:
        super().__init__(parent)
        self._mender, self._to_view = mender, to_view
        self._anchor = QPointF()
        self._break: GraphBreak | None = None
        self._was_code = False
        self.index = 0
        """Index of the shown break in the explanation."""
        self.path = ""
        """Path of the node with the break; empty for one outside of all nodes."""
        self.setProperty("role", "popup")
        self.setAccessibleName("Graph break")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self._title = label("", "heading", wrap=True)
        self._reason = label("", wrap=True)
        self._cost = label("", "dim", wrap=True)
        self.difference = CodeDifference()
        self.status = label("", wrap=True)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName("Progress")
        self.apply = buttons.text_button("Apply rewrite", self._apply, kind="primary")
        self.again = buttons.text_button("Measure again", lambda: mender.measure(self.path))
        self.cancel = buttons.text_button("Cancel", self._cancel)
        self.details = buttons.text_button("Show in Compile panel", lambda: self.details_requested.emit(self.index))
        self._lay_out()
        mender.changed.connect(self.refresh)
        self.hide()

    def open(self, index: int, graph_break: GraphBreak, path: str, anchor: QPointF) -> None:
        """Show a graph break at a scene position, and search a rewrite of its code."""
        self.index, self._break, self.path, self._anchor = index, graph_break, path, anchor
        self._was_code = self._mender.source(path) is not None
        self.show()
        self.raise_()
        if self._mender.applied(path) is None:
            self._mender.search(path)
        self.refresh()
        self._focus_first()

    @property
    def is_open(self) -> bool:
        """Whether it is shown as soon as its canvas is: in a project behind another tab, `isVisible` is false."""
        return not self.isHidden()

    @property
    def is_gone(self) -> bool:
        """Whether the node of the break no longer exists."""
        return self._mender.source(self.path) is None and bool(self.path) and self._was_code

    def close_popup(self) -> None:
        """Hide the popup. A search ends; a measurement goes on."""
        if self.is_open:
            self._mender.cancel_search()
            self.hide()
            self.closed.emit()

    def refresh(self, *_: object) -> None:
        """Show the current state of the break."""
        if not self.is_open or self._break is None:
            return
        focused = self.window().focusWidget()  # the one that gets the focus back, if another window has it
        had_focus = focused is not None and (focused is self or self.isAncestorOf(focused))
        first = self._first_button()
        self._show_break(self._break)
        applied = self._mender.applied(self.path)
        if applied is not None:
            self._show_applied(applied)
        else:
            self._show_search()
        self.place()
        if had_focus and self._first_button() is not first:
            self._focus_first()

    def place(self) -> None:
        """Move the popup below its anchor, inside the canvas; above it without space."""
        parent = self.parentWidget()
        if parent is None or not self.isVisible():
            return
        room = parent.rect().adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        size = self._fitting_size(room.size())
        anchor = self._to_view(self._anchor).toPoint()
        top = anchor.y() + _GAP
        if top + size.height() > room.bottom():
            top = max(room.top(), min(anchor.y() - 4 * _GAP - size.height(), room.bottom() - size.height()))
        left = min(max(anchor.x() - size.width() // 2, room.left()), max(room.right() - size.width(), room.left()))
        self.setGeometry(QRect(QPoint(left, top), size))

    def _fitting_size(self, room: QSize) -> QSize:
        """The size of the popup in a canvas. In a small one, the code scrolls, so that the buttons stay in reach."""
        width = min(_WIDTH, room.width())
        self.setFixedWidth(width)
        code = self.difference.sizeHint().height()
        self.difference.setFixedHeight(code)
        self._column.activate()
        height = self._needed_height(width)
        if height > room.height() and not self.difference.isHidden():
            self.difference.setFixedHeight(max(code - (height - room.height()), _MIN_CODE_HEIGHT))
            self._column.activate()
            height = self._needed_height(width)
        return QSize(width, height)

    def _needed_height(self, width: int) -> int:
        return max(self._column.totalHeightForWidth(width), self._column.totalMinimumSize().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_popup()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.apply.isVisible():
            self._apply()
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.accept()

    # -- content

    def _show_break(self, graph_break: GraphBreak) -> None:
        reason = REASONS[graph_break.reason]
        self._title.setText(f"Graph break in {self.path}" if self.path else "Graph break")
        what = f"{graph_break.what[:1].upper()}{graph_break.what[1:]}".replace("`", "")
        of = f"; it needed the result of {graph_break.op}" if graph_break.op is not None else ""
        self._reason.setText(f"{reason.title}. {what}{of}.")
        times = "Once per step" if graph_break.count == 1 else f"{graph_break.count} times per step"
        self._cost.setText(f"{times}, {number_format.milliseconds(graph_break.seconds)} lost")

    def _show_search(self) -> None:
        found = self._mender.found(self.path)
        is_searching = self._mender.is_searching(self.path)
        match found:
            case MendedCode():
                self.difference.show_difference(self._mender.source(self.path) or "", found.source)
                self._set_status(rewrite_text(found))
            case Unmended():
                self._set_status(f"No rewrite is offered. {found.reason}")
            case None:
                text = "Trying rewrites on batches of the data and on special values…" if is_searching else "Cancelled."
                self._set_status(text)
        self._show_parts(
            difference=isinstance(found, MendedCode),
            apply=isinstance(found, MendedCode),
            busy=is_searching,
            share=None,
        )

    def _show_applied(self, applied: AppliedRewrite) -> None:
        self.difference.show_difference(applied.old, applied.rewrite.source)
        self._cost.setText("The rewrite is applied. Undo brings the break back.")
        self._set_status(gain_text(applied))
        is_busy = applied.state in ("waiting", "measuring")
        share = applied.share if applied.state == "measuring" else None
        self._show_parts(difference=True, apply=False, busy=is_busy, share=share)
        self.again.setVisible(not is_busy)
        self.details.hide()

    def _show_parts(self, *, difference: bool, apply: bool, busy: bool, share: float | None) -> None:
        self.difference.setVisible(difference)
        self.apply.setVisible(apply)
        self.again.hide()
        self.details.show()
        self.cancel.setVisible(busy)
        self._bar.setVisible(busy)
        self._bar.setRange(0, 0 if share is None else 100)
        if share is not None:
            self._bar.setValue(round(100 * share))

    def _set_status(self, text: str) -> None:
        if text != self.status.text():
            self.status.setText(text)
            self.status.setAccessibleName(text)

    def _apply(self) -> None:
        self._mender.apply(self.path)

    def _cancel(self) -> None:
        if self._mender.is_searching(self.path):
            self._mender.cancel_search()
        else:
            self._mender.cancel_measurement()

    def _focus_first(self) -> None:
        """Focus what the user needs next."""
        (self._first_button() or self).setFocus(Qt.FocusReason.PopupFocusReason)

    def _first_button(self) -> QPushButton | None:
        """The button for what the user does next."""
        buttons_by_rank = (self.apply, self.cancel, self.again, self.details)
        return next((button for button in buttons_by_rank if not button.isHidden()), None)

    def _lay_out(self) -> None:
        column = self._column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 8, 12)
        column.setSpacing(8)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(IconWidget("bridge", "warning"), 0, Qt.AlignmentFlag.AlignVCenter)
        head.addWidget(self._title, 1)
        close = buttons.icon_button("close", "Close (Escape)", self.close_popup, token="text-dim")
        head.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(head)
        for widget in (self._reason, self._cost, self.difference, self.status, self._bar):
            column.addWidget(widget)
        row = QHBoxLayout()
        row.setSpacing(8)
        for button in (self.apply, self.again, self.cancel):
            row.addWidget(button)
        row.addStretch(1)
        row.addWidget(self.details)
        column.addLayout(row)


def rewrite_text(found: MendedCode) -> str:
    """What a rewrite does, and how its results were verified."""
    how = found.agreement.text
    parts = [f"{', '.join(found.titles)}: {how}.", *found.notes]
    if found.left:
        parts.append(f"{number_format.count(found.after, 'breaks')} left. {found.left}")
    return " ".join(parts)


def gain_text(applied: AppliedRewrite) -> str:
    """What a step gains by an applied rewrite, or how far its measurement is."""
    match applied.state:
        case "waiting":
            return "One step will be measured after the run."
        case "measuring":
            return f"Measuring one step before and after: {applied.share:.0%}"
        case "cancelled":
            return "The gain was not measured."
        case "failed":
            return f"The gain could not be measured. {applied.problem}"
        case "measured":
            pass
    gain = applied.gain
    assert gain is not None
    before, after = number_format.milliseconds(gain.before), number_format.milliseconds(gain.after)
    if 0.95 < gain.ratio < 1.05:
        how = "as fast as before"
    else:
        how = f"{gain.ratio:.1f}× faster" if gain.ratio > 1 else f"{1 / gain.ratio:.1f}× slower"
    breaks = f"graph breaks: {gain.breaks_before} → {gain.breaks_after}"
    return f"One step: {before} → {after} ({how}, median of {gain.steps} steps), {breaks}."


__all__ = ["GraphBreakPopup", "gain_text", "rewrite_text"]
