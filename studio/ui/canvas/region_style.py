"""The colours of compiled regions: the theme's series on the canvas's ground."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QColor

from studio.ui.theme.theme import Theme, mix

_FADED = 0.4


@dataclass(frozen=True, slots=True)
class RegionStyle:
    """By the number of a segment. Faded colours are for what is about another graph than the one that is shown."""

    theme: Theme
    is_faded: bool = False

    def fill(self, segment: int, *, far: bool = False) -> QColor:
        """Behind the nodes of a region; stronger where nodes are patches of colour."""
        return self._on_ground(self._hue(segment), 0.34 if far else 0.16 if self.theme.is_dark else 0.11)

    def line(self, segment: int) -> QColor:
        """Around a region."""
        return self._on_ground(self._hue(segment), 0.9)

    def band(self, segment: int) -> QColor:
        """Behind the nodes of one kernel."""
        return self._on_ground(self._hue(segment), 0.36 if self.theme.is_dark else 0.27)

    def text(self, segment: int) -> QColor:
        """The name of a region, on the ground."""
        return mix(self._hue(segment), self.theme.color("text"), 0.35)

    def plank(self) -> QColor:
        """Of a bridge."""
        return self._on_ground(self.theme.color("warning"), 0.85)

    def chosen(self) -> QColor:
        return self.theme.color("accent")

    def _hue(self, segment: int) -> QColor:
        return QColor(self.theme.series[(segment - 1) % len(self.theme.series)])

    def _on_ground(self, color: QColor, share: float) -> QColor:
        return mix(self.theme.color("background"), color, share * (_FADED if self.is_faded else 1.0))


__all__ = ["RegionStyle"]
