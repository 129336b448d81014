"""Interface and monospace fonts: a good system font if installed, otherwise one from assets/fonts."""

from __future__ import annotations

import functools

from PySide6.QtGui import QFont, QFontDatabase

from engine.system.assets import asset

INTERFACE_PX = 13
MONOSPACE_PX = 12

_INTERFACE = (
    "Segoe UI",
    ".AppleSystemUIFont",
    "SF Pro Text",
    "Noto Sans",
    "Ubuntu Sans",
    "Ubuntu",
    "Cantarell",
    "Inter",
)
_MONOSPACE = ("Cascadia Mono", "SF Mono", "Menlo", "Consolas", "JetBrains Mono")
_SYMBOLS = ("DejaVu Sans",)


@functools.cache
def load() -> None:
    """Register the bundled fonts with Qt. Needs a QApplication."""
    for path in sorted(asset("fonts").glob("*.[ot]tf")):
        QFontDatabase.addApplicationFont(str(path))


@functools.cache
def interface_families() -> tuple[str, ...]:
    return _available(_INTERFACE)


@functools.cache
def monospace_families() -> tuple[str, ...]:
    return _available(_MONOSPACE)


def interface(pixels: int = INTERFACE_PX, *, bold: bool = False) -> QFont:
    """The interface font with tabular figures, so that changing numbers keep their width."""
    return _font(interface_families(), pixels, bold)


def monospace(pixels: int = MONOSPACE_PX, *, bold: bool = False) -> QFont:
    """The monospace font for shapes, code and numbers. Without ligatures: "!=" stays two characters."""
    font = _font(monospace_families(), pixels, bold)
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setFeature(QFont.Tag("calt"), 0)
    return font


def _font(families: tuple[str, ...], pixels: int, bold: bool) -> QFont:
    font = QFont(list(families))
    font.setPixelSize(pixels)
    font.setFeature(QFont.Tag("tnum"), 1)
    if bold:
        font.setWeight(QFont.Weight.DemiBold)
    return font


def _available(preferred: tuple[str, ...]) -> tuple[str, ...]:
    load()
    installed = set(QFontDatabase.families())
    first = next((name for name in preferred if name in installed), None)
    general = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family()
    symbols = tuple(name for name in _SYMBOLS if name in installed)
    return (first or general, *symbols)
