"""Theme colors by token. Widgets read the manager when painting and repaint on `changed`; no color is hard-coded."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication

from engine.system.assets import asset
from studio.nodes.types import PortType

Mode = Literal["light", "dark", "system"]

SERIES_NAMES = ("Blue", "Orange", "Green", "Rose", "Amber", "Steel blue", "Slate", "Olive")
"""Names of the curve colors, in the same order in every theme."""


@dataclass(frozen=True, slots=True)
class Theme:
    """The colors of one theme, read from `assets/themes/NAME.json`."""

    name: str
    colors: Mapping[str, str]
    categories: Mapping[str, str]
    ports: Mapping[str, str]
    series: tuple[str, ...]
    """Curve colors in order, distinguishable with color blindness."""

    def color(self, token: str, alpha: float = 1.0) -> QColor:
        """The color of a token such as "surface", or of "series-1" for the first curve.

        Raises KeyError for an unknown token.
        """
        return _with_alpha(self.colors[token], alpha)

    def category(self, name: str, alpha: float = 1.0) -> QColor:
        return _with_alpha(self.categories.get(name, self.categories["unknown"]), alpha)

    def port(self, kind: PortType, alpha: float = 1.0) -> QColor:
        return _with_alpha(self.ports[kind.value], alpha)

    @property
    def is_dark(self) -> bool:
        return luminance(self.color("background")) < 0.5

    def on(self, background: QColor) -> QColor:
        """Black or white, whichever has more contrast on `background`."""
        black, white = QColor("#000000"), QColor("#ffffff")
        return white if contrast(white, background) >= contrast(black, background) else black


class ThemeManager(QObject):
    """The current theme. It has the methods of Theme, so that widgets can read colors from the manager."""

    changed = Signal(object)
    """The new Theme."""

    def __init__(self, mode: Mode = "system", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._mode: Mode = mode
        self._theme = load(self._resolve())
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._refresh)

    @property
    def mode(self) -> Mode:
        return self._mode

    @property
    def theme(self) -> Theme:
        return self._theme

    def set_mode(self, mode: Mode) -> None:
        self._mode = mode
        self._refresh()

    def color(self, token: str, alpha: float = 1.0) -> QColor:
        return self._theme.color(token, alpha)

    def category(self, name: str, alpha: float = 1.0) -> QColor:
        return self._theme.category(name, alpha)

    def port(self, kind: PortType, alpha: float = 1.0) -> QColor:
        return self._theme.port(kind, alpha)

    def on(self, background: QColor) -> QColor:
        return self._theme.on(background)

    @property
    def is_dark(self) -> bool:
        return self._theme.is_dark

    def _resolve(self) -> str:
        if self._mode != "system":
            return self._mode
        return "dark" if QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark else "light"

    def _refresh(self) -> None:
        theme = load(self._resolve())
        if theme is self._theme:
            return
        self._theme = theme
        self.changed.emit(theme)


@functools.cache
def load(name: str) -> Theme:
    """Load a theme by name. Raises FileNotFoundError if it does not exist."""
    data = json.loads(asset(f"themes/{name}.json").read_text(encoding="utf-8"))
    series = {f"series-{number}": color for number, color in enumerate(data["series"], start=1)}
    return Theme(data["name"], {**data["colors"], **series}, data["categories"], data["ports"], tuple(data["series"]))


@functools.cache
def manager() -> ThemeManager:
    """The application's ThemeManager."""
    return ThemeManager()


def current() -> Theme:
    return manager().theme


def luminance(color: QColor) -> float:
    """Relative luminance as defined by WCAG 2."""

    def linear(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF())


def contrast(a: QColor, b: QColor) -> float:
    """Contrast ratio as defined by WCAG 2, from 1 to 21."""
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


def mix(a: QColor, b: QColor, share: float) -> QColor:
    """`a` blended with `share` of `b`."""
    return QColor.fromRgbF(
        a.redF() + (b.redF() - a.redF()) * share,
        a.greenF() + (b.greenF() - a.greenF()) * share,
        a.blueF() + (b.blueF() - a.blueF()) * share,
    )


def _with_alpha(value: str, alpha: float) -> QColor:
    color = QColor(value)
    color.setAlphaF(alpha)
    return color
