"""Values of the declared settings, read from and written to the settings file."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, QSettings, Signal

from studio.ui.preferences.declarations import PREFERENCES, AnyPreference, Preference, Value


class Preferences(QObject):
    """Reads values with their bounds. A value that equals its default is not written."""

    changed = Signal(object)
    """A Preference has another value."""

    def __init__(self, store: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store

    def get(self, preference: Preference[Value]) -> Value:
        """The value of a setting."""
        return preference.parse(self._store.value(preference.key))

    def set(self, preference: Preference[Value], value: Value) -> None:
        """Change a setting; the nearest valid value is taken."""
        before, value = self.get(preference), preference.parse(value)
        if value == preference.default:
            self._store.remove(preference.key)
        else:
            self._store.setValue(preference.key, str(value).lower() if isinstance(value, bool) else value)
        if value != before:
            self.changed.emit(preference)

    def is_default(self, preference: AnyPreference) -> bool:
        return self.get(preference) == preference.default

    def values(self) -> dict[str, Any]:
        """All values that differ from their defaults, by key."""
        return {each.key: self.get(each) for each in PREFERENCES if not self.is_default(each)}

    def restore(self, values: dict[str, Any]) -> None:
        """Set these values by key, and all others to their defaults."""
        for preference in PREFERENCES:
            self.set(preference, values.get(preference.key, preference.default))
