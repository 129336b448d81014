"""Buttons that apply a fix, and preview it while the pointer is on them or they have the focus."""

from __future__ import annotations

import html
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint, QRect
from PySide6.QtGui import QFocusEvent, QHelpEvent
from PySide6.QtWidgets import QPushButton, QToolTip, QWidget

from studio.lowering.problems.problem import Fix
from studio.ui.project.fix_previewer import FixPreviewer
from studio.ui.widgets import buttons


def fix_button(fix: Fix, apply: Callable[[], object], previewer: FixPreviewer, *, wraps: bool = False) -> QPushButton:
    """A button that applies a fix.

    Args:
        wraps: whether the title may take several lines
    """
    make = buttons.wrapping_button if wraps else buttons.text_button
    button = make(fix.title, apply)
    button.setAccessibleDescription("Fix. The canvas previews it while this button has the focus.")
    FixPreviewTrigger(button, fix, previewer)
    return button


class FixPreviewTrigger(QObject):
    """Previews a fix while the pointer is on a widget or the widget has the focus, with a tooltip.

    Args:
        hint: a further line of the tooltip
    """

    def __init__(
        self, widget: QWidget, fix: Fix, previewer: FixPreviewer, *, hint: str = "", hovers: bool = True
    ) -> None:
        super().__init__(widget)
        self._widget, self._fix, self._previewer, self._hint, self._hovers = widget, fix, previewer, hint, hovers
        self._shows_tooltip = False
        widget.installEventFilter(self)
        previewer.changed.connect(self._follow)
        previewer.destroyed.connect(self._stop)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.FocusIn and isinstance(event, QFocusEvent):
            self._previewer.begin(self._fix)
            self._show_tooltip()
        elif kind == QEvent.Type.Enter and self._hovers:
            self._previewer.begin(self._fix)
        elif kind == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            self._previewer.begin(self._fix)
            self._show_tooltip(event.globalPos())
            return True
        elif kind in (QEvent.Type.Leave, QEvent.Type.FocusOut, QEvent.Type.Hide) and not self._is_kept(kind):
            self._end()
        return False

    def _stop(self) -> None:
        """The project was closed before its widgets are deleted."""
        self._widget.removeEventFilter(self)

    def _is_kept(self, kind: QEvent.Type) -> bool:
        """Whether the focus or the pointer keeps the preview."""
        if kind == QEvent.Type.Leave:
            return self._widget.hasFocus() or not self._hovers
        return kind == QEvent.Type.FocusOut and self._hovers and self._widget.underMouse()

    def _end(self) -> None:
        self._shows_tooltip = False
        if self._previewer.fix is self._fix:
            QToolTip.hideText()
        self._previewer.end(self._fix)

    def _follow(self) -> None:
        """Update the tooltip with the result of the check."""
        if self._previewer.fix is not self._fix:
            self._shows_tooltip = False
        elif self._shows_tooltip and QToolTip.isVisible():
            self._show_tooltip()

    def _show_tooltip(self, at: QPoint | None = None) -> None:
        widget = self._widget
        self._shows_tooltip = True
        corner = widget.mapToGlobal(QPoint(0, widget.height()))
        lines = [*self._previewer.lines, *([self._hint] if self._hint else [])]
        text = "<br>".join(html.escape(line) for line in lines)
        QToolTip.showText(corner if at is None else at, f"<b>Preview</b><br>{text}", widget, QRect())


__all__ = ["FixPreviewTrigger", "fix_button"]
