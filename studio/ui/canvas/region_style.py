"""The colours of compiled regions: the theme's series on the canvas's ground."""

from __future__ import annotations

from PySide6.QtGui import QColor

from studio.ui.theme import Theme, mix


def hue(theme: Theme, segment: int) -> QColor:
    """The colour that stands for a segment."""
    return QColor(theme.series[(segment - 1) % len(theme.series)])


def fill(theme: Theme, segment: int, *, far: bool = False) -> QColor:
    """Behind the nodes of a region; stronger where nodes are patches of colour."""
    share = 0.34 if far else 0.16 if theme.is_dark else 0.11
    return mix(theme.color("background"), hue(theme, segment), share)


def line(theme: Theme, segment: int) -> QColor:
    """Around a region."""
    return mix(theme.color("background"), hue(theme, segment), 0.8)


def group_fill(theme: Theme, segment: int) -> QColor:
    """Behind the nodes of one kernel."""
    return mix(theme.color("background"), hue(theme, segment), 0.36 if theme.is_dark else 0.27)


def text(theme: Theme, segment: int) -> QColor:
    """The name of a region, on the ground."""
    return mix(hue(theme, segment), theme.color("text"), 0.35)


def plank(theme: Theme) -> QColor:
    """Of a bridge."""
    return mix(theme.color("background"), theme.color("warning"), 0.85)


__all__ = ["fill", "group_fill", "hue", "line", "plank", "text"]
