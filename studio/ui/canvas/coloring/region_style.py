"""Colors of compiled regions: the theme's series blended with the canvas background."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QColor

from studio.ui.theme.theme import Theme, mix

_FADED = 0.4


@dataclass(frozen=True, slots=True)
class RegionStyle:
    """Colors by segment number. Faded colors mark an explanation of an earlier graph."""

    theme: Theme
    is_faded: bool = False

    def fill(self, segment: int, *, far: bool = False) -> QColor:
        """Fill behind the nodes of a region; stronger when zoomed out far."""
        return self._blended(self._hue(segment), 0.34 if far else 0.16 if self.theme.is_dark else 0.11)

    def line(self, segment: int) -> QColor:
        """Outline of a region."""
        return self._blended(self._hue(segment), 0.9)

    def band(self, segment: int) -> QColor:
        """Fill behind the nodes of one kernel."""
        return self._blended(self._hue(segment), 0.36 if self.theme.is_dark else 0.27)

    def text(self, segment: int) -> QColor:
        """Text color of a region's name."""
        return mix(self._hue(segment), self.theme.color("text"), 0.35)

    def graph_break(self) -> QColor:
        return self._blended(self.theme.color("warning"), 0.85)

    def chosen(self) -> QColor:
        return self.theme.color("accent")

    def _hue(self, segment: int) -> QColor:
        return QColor(self.theme.series[(segment - 1) % len(self.theme.series)])

    def _blended(self, color: QColor, share: float) -> QColor:
        return mix(self.theme.color("background"), color, share * (_FADED if self.is_faded else 1.0))


__all__ = ["RegionStyle"]
