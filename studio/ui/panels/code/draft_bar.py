"""The bar below edited code: its state, or why it cannot be applied."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from studio.ui.widgets import buttons
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label


class DraftBar(QFrame):
    """Hidden while the code is that of the graph."""

    def __init__(
        self, apply: Callable[[], object], revert: Callable[[], object], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setProperty("role", "notice")
        self.setAccessibleName("Edited code")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 8, 6)
        row.setSpacing(8)
        self._icon = IconWidget("error", "error")
        row.addWidget(self._icon)
        self.text = label("", wrap=True, selectable=True)
        row.addWidget(self.text, 1)
        self.apply = buttons.text_button("Apply", apply, kind="primary")
        self.apply.setToolTip("Change the graph to match the code (Ctrl+Enter)")
        self.revert = buttons.text_button("Revert", revert)
        self.revert.setToolTip("Discard the edits of the code (Esc)")
        row.addWidget(self.revert)
        row.addWidget(self.apply)
        self.hide()

    def show_state(self, text: str) -> None:
        self._show(text, is_error=False)

    def show_error(self, text: str) -> None:
        self._show(text, is_error=True)

    def _show(self, text: str, *, is_error: bool) -> None:
        self._icon.setVisible(is_error)
        self.text.setText(text)
        self.apply.setEnabled(not is_error)
        self.show()


__all__ = ["DraftBar"]
