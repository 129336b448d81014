"""One setting in the dialog: its title, its field, a button that resets it, and its description."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLabel, QPushButton, QWidget

from studio.ui.preferences.declarations import AnyPreference
from studio.ui.preferences.preferences import Preferences
from studio.ui.theme import interface_scale
from studio.ui.widgets import buttons
from studio.ui.widgets.inputs import ComboBox, SpinBox
from studio.ui.widgets.labels import label

_TITLE_WIDTH = 170


class PreferenceRow(QWidget):
    restart_requested = Signal()

    def __init__(self, preference: AnyPreference, preferences: Preferences) -> None:
        super().__init__()
        self.preference, self._preferences = preference, preferences
        self.field = self._make_field()
        self.field.setAccessibleName(preference.title)
        self.field.setAccessibleDescription(preference.help)
        self.reset = buttons.icon_button("reset", f"Reset {preference.title}", self._reset, token="text-dim", size=14)
        self.reset.setToolTip(f"Reset to {preference.text(preference.default)}")
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        if isinstance(self.field, QCheckBox):
            grid.addWidget(self.field, 0, 0, 1, 2, Qt.AlignmentFlag.AlignLeft)
        else:
            title = label(preference.title, wrap=True)
            title.setFixedWidth(_TITLE_WIDTH)
            title.setBuddy(self.field)
            grid.addWidget(title, 0, 0)
            grid.addWidget(self.field, 0, 1)
        grid.addWidget(self.reset, 0, 2)
        grid.addWidget(label(preference.help, "small", wrap=True), 1, 0, 1, 3)
        self._notice: QLabel | None = None
        self._restart: QPushButton | None = None
        if preference.effect == "after a restart":
            self._notice = label(f"{preference.title} changes after a restart.", "warning", wrap=True)
            self._restart = buttons.text_button("Restart now", self.restart_requested.emit)
            self._restart.setAutoDefault(False)
            grid.addWidget(self._notice, 2, 0, 1, 2)
            grid.addWidget(self._restart, 2, 1, 1, 2, Qt.AlignmentFlag.AlignRight)
        self.refresh()

    def refresh(self) -> None:
        """Show the current value."""
        value = self._preferences.get(self.preference)
        if isinstance(self.field, QCheckBox):
            self.field.setChecked(bool(value))
        elif isinstance(self.field, ComboBox):
            self.field.setCurrentIndex(list(self.preference.choices).index(value))
        elif self.field.value() != value:
            self.field.setValue(value)
        self.reset.setEnabled(not self._preferences.is_default(self.preference))
        if self._notice is not None and self._restart is not None:
            is_pending = value != interface_scale.applied()
            self._notice.setVisible(is_pending)
            self._restart.setVisible(is_pending)

    def _make_field(self) -> QCheckBox | ComboBox | SpinBox:
        preference = self.preference
        if preference.choices:
            combo = ComboBox()
            for value, title in preference.choices.items():
                combo.addItem(title, value)
            combo.activated.connect(lambda index: self._set(combo.itemData(index)))
            return combo
        if isinstance(preference.default, bool):
            box = QCheckBox(preference.title)
            box.toggled.connect(self._set)
            return box
        number = SpinBox()
        number.setRange(preference.low, preference.high)
        number.setSingleStep(preference.step)
        number.setSuffix(preference.suffix)
        number.setKeyboardTracking(False)
        number.valueChanged.connect(self._set)
        return number

    def _set(self, value: Any) -> None:
        self._preferences.set(self.preference, value)

    def _reset(self) -> None:
        self._set(self.preference.default)
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)
