"""The corner of the source view: a button that copies the code, and whether newer code is being generated."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QTimer
from PySide6.QtWidgets import QHBoxLayout, QWidget

from studio.ui.widgets import buttons
from studio.ui.widgets.labels import label

_PATIENCE_MS = 300
"""Time after which the activity is shown, so that it does not flicker."""


class CodeCorner(QWidget):
    def __init__(self, copy: Callable[[], object], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self.activity = label("Updating…")
        self.activity.setProperty("role", "readout")
        self.activity.setToolTip("Generating the code of the changed graph. Until then, this is the previous code.")
        self.activity.hide()
        button = buttons.icon_button("copy", "Copy code", copy)
        button.setProperty("kind", "chip")
        row.addWidget(self.activity)
        row.addWidget(button)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(_PATIENCE_MS)
        self._patience.timeout.connect(self.activity.show)

    def show_activity(self) -> None:
        """Show that newer code is being generated, if that takes a while."""
        if not self.activity.isVisible():
            self._patience.start()

    def hide_activity(self) -> None:
        self._patience.stop()
        self.activity.hide()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # grow to the left
            area, size = self.geometry(), self.sizeHint()
            self.setGeometry(area.right() + 1 - size.width(), area.top(), size.width(), size.height())
        return super().event(event)


__all__ = ["CodeCorner"]
