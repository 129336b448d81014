"""The settings dialog: appearance and keyboard shortcuts. Changes apply immediately."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QDialog, QDialogButtonBox, QFormLayout, QVBoxLayout, QWidget

from studio.ui.command_registry import CommandRegistry
from studio.ui.settings import Settings
from studio.ui.theme import motion, theme
from studio.ui.theme.theme import MODES, Mode
from studio.ui.widgets.inputs import ComboBox
from studio.ui.widgets.labels import label, line
from studio.ui.window.shortcut_table import ShortcutTable

_MODE_TITLES = {"light": "Light", "dark": "Dark", "system": "System"}


class SettingsDialog(QDialog):
    def __init__(self, settings: Settings, commands: CommandRegistry, parent: QWidget) -> None:
        super().__init__(parent)
        self._settings, self._commands = settings, commands
        self.setWindowTitle("Settings")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(560, 620)
        self.theme = ComboBox()
        for mode in MODES:
            self.theme.addItem(_MODE_TITLES[mode], mode)
        self.theme.setCurrentIndex(MODES.index(theme.manager().mode))
        self.theme.activated.connect(self._set_theme)
        self.motion = QCheckBox("Turn off animations")
        self.motion.setChecked(settings.reduce_motion)
        self.motion.toggled.connect(self._set_motion)
        self.keys = ShortcutTable(commands)
        form = QFormLayout()
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(8)
        form.addRow("Theme", self.theme)
        form.addRow("Reduce motion", self.motion)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.close)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        column.addWidget(label("Appearance", "heading"))
        column.addLayout(form)
        column.addWidget(line())
        column.addWidget(label("Keyboard shortcuts", "heading"))
        column.addWidget(self.keys, 1)
        column.addWidget(buttons)
        commands.changed.connect(self._save_bindings)

    def _set_theme(self, index: int) -> None:
        mode = cast(Mode, self.theme.itemData(index))
        self._settings.theme = mode
        theme.manager().set_mode(mode)

    def _set_motion(self, reduced: bool) -> None:
        self._settings.reduce_motion = reduced
        motion.set_reduced(reduced)

    def _save_bindings(self) -> None:
        self._settings.bindings = dict(self._commands.bindings)
