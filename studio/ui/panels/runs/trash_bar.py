"""Shows what was moved to the trash, with a button to restore it."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QWidget

from studio.ui import number_format
from studio.ui.panels.runs.run_actions import RunActions
from studio.ui.trash import TrashedItem
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import label
from studio.ui.widgets.row_layout import row_of


class TrashBar(QFrame):
    """Hidden when empty and during other file operations."""

    def __init__(self, actions: RunActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self.setProperty("role", "notice")
        self.message = label("", wrap=True)
        self.restore_from_trash = buttons.text_button("Restore", actions.restore_from_trash, kind="link")
        dismiss = buttons.icon_button("close", "Dismiss", self.hide, size=14)
        line = row_of(self.message, self.restore_from_trash, dismiss, wide=self.message)
        line.setContentsMargins(12, 4, 4, 4)
        self.setLayout(line)
        actions.trash_changed.connect(self._show_trashed)
        actions.jobs.changed.connect(self._hide_while_busy)
        self.hide()

    def _show_trashed(self, trashed: list[TrashedItem]) -> None:
        self.message.setText(f"{number_format.count(len(trashed), 'runs')} moved to the trash")
        self.restore_from_trash.setVisible(self._actions.can_restore_from_trash())
        self.show()

    def _hide_while_busy(self) -> None:
        if self._actions.jobs.is_busy:
            self.hide()


__all__ = ["TrashBar"]
