"""A notification above the canvas with buttons, for events that can wait."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from studio.ui.widgets import buttons
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label


class NotificationBar(QFrame):
    """Closes when any button is clicked."""

    def __init__(
        self,
        text: str,
        choices: list[tuple[str, Callable[[], object]]],
        parent: QWidget | None = None,
        *,
        icon: str = "warning",
    ) -> None:
        super().__init__(parent)
        self.setProperty("role", "notice")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 8, 6)
        row.setSpacing(8)
        row.addWidget(IconWidget(icon, icon))
        self.text = label(text, wrap=True)
        row.addWidget(self.text, 1)
        self.choices = [buttons.text_button(title, self._then(run)) for title, run in choices]
        for button in self.choices:
            row.addWidget(button)
        row.addWidget(buttons.icon_button("close", "Dismiss", self.deleteLater))

    def _then(self, run: Callable[[], object]) -> Callable[[], None]:
        def press() -> None:
            self.hide()
            self.deleteLater()
            run()

        return press
