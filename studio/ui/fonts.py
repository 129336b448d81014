"""Interface and monospace fonts: the system's where it has a good one, by name, in order of taste."""

from __future__ import annotations

import functools

from PySide6.QtGui import QFont, QFontDatabase

INTERFACE_PX = 13

_INTERFACE = (
    "Inter",
    "Inter Variable",
    "Segoe UI",
    ".AppleSystemUIFont",
    "SF Pro Text",
    "Noto Sans",
    "Ubuntu",
    "Cantarell",
    "DejaVu Sans",
)
_MONOSPACE = ("JetBrains Mono", "Cascadia Mono", "SF Mono", "Menlo", "Consolas", "Noto Sans Mono", "DejaVu Sans Mono")


@functools.cache
def interface_families() -> tuple[str, ...]:
    return _available(_INTERFACE)


@functools.cache
def monospace_families() -> tuple[str, ...]:
    return _available(_MONOSPACE)


def interface(pixels: int = INTERFACE_PX, *, bold: bool = False) -> QFont:
    """The interface font with tabular figures, so that changing numbers do not dance."""
    return _font(interface_families(), pixels, bold)


def monospace(pixels: int = 12, *, bold: bool = False) -> QFont:
    """For shapes, code and numbers that are compared."""
    font = _font(monospace_families(), pixels, bold)
    font.setStyleHint(QFont.StyleHint.Monospace)
    return font


def _font(families: tuple[str, ...], pixels: int, bold: bool) -> QFont:
    font = QFont(list(families))
    font.setPixelSize(pixels)
    font.setFeature(QFont.Tag("tnum"), 1)
    if bold:
        font.setWeight(QFont.Weight.DemiBold)
    return font


def _available(names: tuple[str, ...]) -> tuple[str, ...]:
    known = set(QFontDatabase.families())
    return tuple(name for name in names if name in known) or (
        QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family(),
    )
