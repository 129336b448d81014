"""The settings dialog: the declared settings, and keyboard shortcuts."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from studio.ui.command_registry import CommandRegistry
from studio.ui.preferences.declarations import PREFERENCES
from studio.ui.settings import Settings
from studio.ui.widgets import buttons
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import label
from studio.ui.window.preference_row import PreferenceRow
from studio.ui.window.shortcut_table import ShortcutTable

_SIZE = QSize(580, 640)


class SettingsDialog(QDialog):
    """Changes are saved at once. Each takes effect when its declaration says so."""

    restart_requested = Signal()

    def __init__(self, settings: Settings, commands: CommandRegistry, parent: QWidget) -> None:
        super().__init__(parent)
        self._settings, self._commands = settings, commands
        self._preferences = settings.preferences
        self.setWindowTitle("Settings")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(_SIZE.boundedTo(parent.screen().availableSize() - QSize(16, 48)))
        self.rows: list[PreferenceRow] = []
        self.keys = ShortcutTable(commands)
        self.keys.layout().setContentsMargins(16, 12, 16, 4)  # pyright: ignore[reportOptionalMemberAccess]
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setAccessibleName("Pages of the settings")
        self.tabs.addTab(self._settings_page(), "Settings")
        self.tabs.addTab(self.keys, "Keyboard shortcuts")
        self._buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self._buttons.rejected.connect(self.close)
        self._buttons.setContentsMargins(16, 0, 16, 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 12)
        column.setSpacing(8)
        column.addWidget(self.tabs, 1)
        column.addWidget(self._buttons)
        for button in self._buttons.buttons():
            button.setAutoDefault(False)  # pyright: ignore[reportAttributeAccessIssue]
        commands.changed.connect(self._save_bindings)
        self._preferences.changed.connect(self._refresh)
        self._filter("")
        self.search.setFocus()

    def show_shortcuts(self) -> None:
        """Bring the page of keyboard shortcuts to the front."""
        self.raise_()
        self.activateWindow()
        self.tabs.setCurrentWidget(self.keys)
        self.keys.search.setFocus()

    def show_setting(self, key: str) -> None:
        """Bring the dialog to the front; with a key, go to that setting."""
        self.raise_()
        self.activateWindow()
        for row in self.rows:
            if row.preference.key == key:
                self.tabs.setCurrentIndex(0)
                self.search.clear()
                row.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
                QTimer.singleShot(0, lambda row=row: self._area.ensureWidgetVisible(row, 0, 24))

    # -- the page of settings

    def _settings_page(self) -> QWidget:
        self.search = LineEdit()
        self.search.setAccessibleName("Search settings")
        self.search.setPlaceholderText("Search settings")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._filter)
        self._found_shortcuts = buttons.text_button("", self._show_shortcuts, kind="link")
        self._found_shortcuts.setAutoDefault(False)
        self._area = QScrollArea()
        self._area.setWidget(self._all_rows())
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._message = label("", "dim", wrap=True)
        self._undo = buttons.text_button("Undo", self._undo_reset)
        self._reset_all = buttons.text_button("Reset all settings", self._reset)
        for button in (self._undo, self._reset_all):
            button.setAutoDefault(False)
        self._undo.hide()
        self._before_reset: dict[str, Any] = {}
        footer = QHBoxLayout()
        footer.addWidget(self._message, 1)
        footer.addWidget(self._undo)
        footer.addWidget(self._reset_all)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(16, 12, 16, 4)
        column.setSpacing(8)
        column.addWidget(self.search)
        column.addWidget(self._found_shortcuts, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._area, 1)
        column.addLayout(footer)
        return page

    def _all_rows(self) -> QWidget:
        """The rows of all settings under the headings of their sections."""
        self._headings: dict[str, QWidget] = {}
        page = QWidget()
        page.setObjectName("page")
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 8, 8)
        column.setSpacing(14)
        for preference in PREFERENCES:
            if preference.section not in self._headings:
                heading = self._headings[preference.section] = label(preference.section, "heading")
                column.addWidget(heading)
            row = PreferenceRow(preference, self._preferences)
            row.restart_requested.connect(self.restart_requested)
            self.rows.append(row)
            column.addWidget(row)
        self._nothing = label("No setting matches.", "dim", wrap=True)
        column.addWidget(self._nothing)
        column.addStretch(1)
        return page

    def _filter(self, text: str) -> None:
        for row in self.rows:
            row.setVisible(row.preference.matches(text))
        for section, heading in self._headings.items():
            heading.setVisible(any(row.preference.section == section and not row.isHidden() for row in self.rows))
        self._nothing.setVisible(all(row.isHidden() for row in self.rows))
        count = self.keys.count_matches(text) if text.strip() else 0
        self._found_shortcuts.setText(f"{count} matching {'command' if count == 1 else 'commands'}: show shortcuts")
        self._found_shortcuts.setVisible(bool(count))

    def _show_shortcuts(self) -> None:
        self.keys.search.setText(self.search.text())
        self.show_shortcuts()

    def _refresh(self, *_: object) -> None:
        for row in self.rows:
            row.refresh()
        self._message.setText("")
        self._undo.hide()

    def _reset(self) -> None:
        before = self._preferences.values()
        self._preferences.restore({})
        self._before_reset = before
        self._message.setText("All settings were reset." if before else "All settings have their default values.")
        self._undo.setVisible(bool(before))

    def _undo_reset(self) -> None:
        self._preferences.restore(self._before_reset)
        self._reset_all.setFocus()

    def _save_bindings(self) -> None:
        self._settings.bindings = dict(self._commands.bindings)
