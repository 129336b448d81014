"""What is kept between starts: the user's settings, shortcuts, layout and state of panels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

from studio.ui.preferences.preferences import Preferences

LAYOUT_VERSION = 5
"""Increase it when docks are added or renamed, so that old layouts are ignored."""


class Settings:
    """Typed access to the settings file. Unreadable values fall back to their defaults."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` is an INI file; None uses the platform's location for user settings."""
        if path is None:
            self._store = QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, "Gradwire", "Gradwire")
        else:
            self._store = QSettings(str(path), QSettings.Format.IniFormat)
        self.preferences = Preferences(self._store)
        """The declared settings."""

    @property
    def bindings(self) -> dict[str, tuple[str, ...]]:
        """Shortcuts that differ from the defaults, by command id."""
        self._store.beginGroup("keys")
        values = {name: self._store.value(name) for name in self._store.childKeys()}
        self._store.endGroup()
        return {name: tuple(filter(None, text.split(" | "))) for name, text in values.items() if isinstance(text, str)}

    @bindings.setter
    def bindings(self, bindings: dict[str, tuple[str, ...]]) -> None:
        self._store.remove("keys")
        for name, keys in bindings.items():
            self._store.setValue(f"keys/{name}", " | ".join(keys))

    @property
    def smoothing(self) -> float:
        """Smoothing of the curves (exponential moving average), 0 to 0.99."""
        try:
            return min(max(float(str(self._store.value("smoothing", 0.9))), 0.0), 0.99)
        except ValueError:
            return 0.9

    @smoothing.setter
    def smoothing(self, value: float) -> None:
        self._store.setValue("smoothing", value)

    @property
    def hidden_columns(self) -> frozenset[str]:
        """Hidden columns of the run table."""
        return frozenset(self._names("runs/hidden_columns"))

    @hidden_columns.setter
    def hidden_columns(self, value: Iterable[str]) -> None:
        self._store.setValue("runs/hidden_columns", _joined(value))

    def ticks(self, folder: Path) -> dict[str, bool]:
        """Which runs of a project are shown in the plots, by name of the run folder."""
        key = _key(folder)
        shown, hidden = self._names(f"{key}/shown"), self._names(f"{key}/hidden")
        return {**dict.fromkeys(shown, True), **dict.fromkeys(hidden, False)}

    def set_ticks(self, folder: Path, ticks: Mapping[str, bool]) -> None:
        key = _key(folder)
        self._store.setValue(f"{key}/shown", _joined(name for name, on in ticks.items() if on))
        self._store.setValue(f"{key}/hidden", _joined(name for name, on in ticks.items() if not on))

    def color_by_of(self, project: Path | None) -> str:
        """Key of the figure that the canvas of a project is colored by; without a choice for it, the last one."""
        last = str(self._store.value("color_by", ""))
        return last if project is None else str(self._store.value(f"{_key(project)}/color_by", last))

    def set_color_by(self, project: Path | None, key: str) -> None:
        """Store the figure of a project; empty for none."""
        self._store.setValue("color_by", key)
        if project is not None:
            self._store.setValue(f"{_key(project)}/color_by", key)

    def probes_of(self, project: Path | None) -> str:
        """The probes of a project as JSON text; see `probe_list`. Empty without a project file."""
        return "" if project is None else str(self._store.value(f"{_key(project)}/probes", ""))

    def set_probes(self, project: Path | None, probes: str) -> None:
        """Store the probes of a project that has a file."""
        if project is not None:
            self._store.setValue(f"{_key(project)}/probes", probes)

    @property
    def probe_interval(self) -> int:
        """Steps between two updates of the probes while a run trains; 0 for none."""
        try:
            return min(max(int(str(self._store.value("probes/interval", 20))), 0), 1_000_000)
        except ValueError:
            return 20

    @probe_interval.setter
    def probe_interval(self, value: int) -> None:
        self._store.setValue("probes/interval", value)

    @property
    def node_usage(self) -> str:
        """How often each node type was added, as JSON text; see `NodeUsage`."""
        return str(self._store.value("palette/usage", ""))

    @node_usage.setter
    def node_usage(self, value: str) -> None:
        self._store.setValue("palette/usage", value)

    @property
    def answered_offer(self) -> bool:
        """Whether the user started or declined the first lesson, which is offered until then."""
        return self._flag("tour/answered")

    @answered_offer.setter
    def answered_offer(self, value: bool) -> None:
        self._store.setValue("tour/answered", int(value))

    @property
    def geometry(self) -> QByteArray | None:
        return self._bytes("window/geometry")

    @geometry.setter
    def geometry(self, value: QByteArray) -> None:
        self._store.setValue("window/geometry", value)

    @property
    def layout(self) -> QByteArray | None:
        """Dock layout, for `QMainWindow.restoreState`."""
        return self._bytes("window/layout")

    @layout.setter
    def layout(self, value: QByteArray) -> None:
        self._store.setValue("window/layout", value)

    def sync(self) -> None:
        """Write to disk now."""
        self._store.sync()

    def _flag(self, key: str) -> bool:
        return str(self._store.value(key, 0)) in ("1", "true")

    def _names(self, key: str) -> list[str]:
        return [name for name in str(self._store.value(key, "")).split("|") if name]

    def _bytes(self, key: str) -> QByteArray | None:
        value = self._store.value(key)
        return value if isinstance(value, QByteArray) and not value.isEmpty() else None


def _joined(names: Iterable[str]) -> str:
    return "|".join(names)


def _key(folder: Path) -> str:
    """Settings key of a project's file or run folder. Encoded, because QSettings treats a slash as a group."""
    return f"ticks/{hashlib.sha256(str(folder.absolute()).encode()).hexdigest()[:16]}"
