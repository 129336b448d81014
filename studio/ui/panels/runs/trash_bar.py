"""Shows what was moved to the trash, with a button to restore it."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QWidget

from studio.ui import number_format
from studio.ui.panels.runs.run_actions import RunActions
from studio.ui.trash import TrashedItem
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import ElidedLabel
from studio.ui.widgets.row_layout import row_of


class TrashBar(QFrame):
    """Hidden when empty and during other file operations."""

    def __init__(self, do: RunActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._do = do
        self.setProperty("role", "notice")
        self.words = ElidedLabel()
        self.restore_from_trash = buttons.text_button("Restore", do.restore_from_trash, kind="link")
        dismiss = buttons.icon_button("close", "Dismiss", self.hide, size=14)
        line = row_of(self.words, self.restore_from_trash, dismiss, wide=self.words)
        line.setContentsMargins(12, 4, 4, 4)
        self.setLayout(line)
        do.trash_changed.connect(self._show_thrown)
        do.jobs.changed.connect(self._give_way)
        self.hide()

    def _show_thrown(self, thrown: list[TrashedItem]) -> None:
        self.words.setText(f"{number_format.count(len(thrown), 'runs')} moved to the trash")
        self.restore_from_trash.setVisible(self._do.can_put_back())
        self.show()

    def _give_way(self) -> None:
        if self._do.jobs.is_busy:
            self.hide()


__all__ = ["TrashBar"]
