"""Placeholder of an empty panel: what it is for, and how to fill it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.ui.widgets import buttons
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label


class EmptyState(QWidget):
    """An icon, a title, a hint and optionally a button, centered."""

    def __init__(
        self, icon: str, title: str, hint: str, *, action: str = "", run: Callable[[], object] | None = None
    ) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 16, 24, 16)
        column.setSpacing(4)
        column.addStretch(1)
        column.addWidget(IconWidget(icon, "border-strong", 32), 0, Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(4)
        self._title = label(title, "heading", wrap=True)
        self._hint = label(hint, "dim", wrap=True)
        for text in (self._title, self._hint):
            text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self._title)
        column.addWidget(self._hint)
        self.button = None
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

    def set_text(self, title: str, hint: str) -> None:
        self._title.setText(title)
        self._hint.setText(hint)
