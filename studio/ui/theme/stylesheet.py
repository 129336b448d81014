"""The Qt style sheet: `assets/themes/studio.qss` with the colors and icons of a theme filled in."""

from __future__ import annotations

import functools
import re

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication

from engine.system.assets import asset
from studio.ui.theme import icons
from studio.ui.theme.fonts import monospace_families
from studio.ui.theme.theme import Theme

_ROLES = {
    QPalette.ColorRole.Window: "surface",
    QPalette.ColorRole.WindowText: "text",
    QPalette.ColorRole.Base: "raised",
    QPalette.ColorRole.AlternateBase: "surface",
    QPalette.ColorRole.Text: "text",
    QPalette.ColorRole.Button: "raised",
    QPalette.ColorRole.ButtonText: "text",
    QPalette.ColorRole.ToolTipBase: "raised",
    QPalette.ColorRole.ToolTipText: "text",
    QPalette.ColorRole.PlaceholderText: "text-dim",
    QPalette.ColorRole.Highlight: "selection",
    QPalette.ColorRole.HighlightedText: "text",
    QPalette.ColorRole.Link: "accent",
    QPalette.ColorRole.LinkVisited: "accent",
    QPalette.ColorRole.Mid: "border",
    QPalette.ColorRole.Dark: "border-strong",
}


def apply(application: QApplication, theme: Theme) -> None:
    """Apply the style sheet and palette of the current theme to the application."""
    application.setPalette(palette(theme))
    application.setStyleSheet(text(theme))


def text(theme: Theme) -> str:
    """The style sheet of a theme. Raises KeyError for an unknown token."""
    values = {**theme.colors, "mono": ", ".join(f'"{name}"' for name in monospace_families())}
    filled = re.sub(r"@icon\(([\w-]+), ([\w-]+)\)", lambda match: _picture(theme, match[1], match[2]), _template())
    return re.sub(r"@([a-z]+(?:-[a-z]+)*)", lambda match: values[match[1]], filled)


def palette(theme: Theme) -> QPalette:
    """Palette for what Qt paints without the style sheet: links, placeholder text, selections."""
    colors = QPalette()
    for role, token in _ROLES.items():
        colors.setColor(role, theme.color(token))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        colors.setColor(QPalette.ColorGroup.Disabled, role, theme.color("text-dim", 0.6))
    return colors


def _picture(theme: Theme, icon: str, token: str) -> str:
    return f'url("{icons.file(icon, theme.color(token)).as_posix()}")'


@functools.cache
def _template() -> str:
    return asset("themes/studio.qss").read_text(encoding="utf-8")
