"""A notification above the canvas with buttons, for events that can wait."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import SignalInstance
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

    def close_when(self, changed: SignalInstance, is_done: Callable[[], bool]) -> None:
        """Close once a signal finds a condition met."""
        self._is_done = is_done
        changed.connect(self._close_if_done)

    def _close_if_done(self, *_: object) -> None:
        if self._is_done():
            self.hide()
            self.deleteLater()

    def _then(self, run: Callable[[], object]) -> Callable[[], None]:
        def press() -> None:
            self.hide()
            self.deleteLater()
            run()

        return press
