"""Placeholder of an empty panel: what it is for, and how to fill it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from studio.ui.widgets import buttons
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label, tip

_SIDE, _EDGE, _GAP = 24, 8, 4


class EmptyState(QWidget):
    """An icon, a title, a hint and optionally a button, centered. A low panel leaves out the icon, then the hint."""

    def __init__(
        self, icon: str, title: str, hint: str, *, action: str = "", run: Callable[[], object] | None = None
    ) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(_SIDE, _EDGE, _SIDE, _EDGE)
        column.setSpacing(_GAP)
        column.addStretch(1)
        self._icon = IconWidget(icon, "border-strong", 32)
        column.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignHCenter)
        self._title = label(title, "heading", wrap=True)
        self._hint = label(hint, "dim", wrap=True)
        for text in (self._title, self._hint):
            text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self._title)
        column.addWidget(self._hint)
        self.button: QPushButton | None = None
        if run is not None:
            self.button = buttons.text_button(action, run, kind="primary")
            # Like the buttons of the top bar, it does not take the focus, so that text being typed elsewhere is kept.
            self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            column.addSpacing(8)
            column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(2)

    def show_button(self, shown: bool) -> None:
        if self.button is not None:
            self.button.setVisible(shown)
            self._fit()

    def set_text(self, title: str, hint: str) -> None:
        self._title.setText(title)
        self._hint.setText(hint)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Hide what does not fit the height, the hint last. The title tells the hint then."""
        width = self.width() - 2 * _SIDE
        room = self.height() - 2 * _EDGE - self._title.heightForWidth(width)
        if self.button is not None and not self.button.isHidden():
            room -= self.button.sizeHint().height() + 8 + 2 * _GAP
        room -= self._hint.heightForWidth(width) + _GAP
        self._hint.setVisible(room >= 0)
        self._title.setToolTip("" if room >= 0 else tip(self._hint.text()))
        self._icon.setVisible(room >= self._icon.sizeHint().height() + 2 * _GAP)
