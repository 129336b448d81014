"""A strip with a text and a button."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from studio.ui.widgets import buttons
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label


class NoticeBar(QFrame):
    def __init__(
        self,
        action: str,
        run: Callable[[], object],
        text: str = "",
        parent: QWidget | None = None,
        *,
        icon: str = "warning",
    ) -> None:
        super().__init__(parent)
        self.setProperty("role", "notice")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 8, 4)
        row.setSpacing(8)
        row.addWidget(IconWidget(icon, icon))
        self.text = label(text, wrap=True)
        row.addWidget(self.text, 1)
        self.button = buttons.text_button(action, run)
        row.addWidget(self.button)


__all__ = ["NoticeBar"]
