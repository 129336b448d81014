"""Color scale of gradient norms: logarithmic over one graph."""

from __future__ import annotations

import math
from collections.abc import Iterable

from PySide6.QtGui import QColor

from studio.ui.theme.theme import Theme, mix

_SMALLEST = 1e-30


class NormScale:
    """Colors from the theme's background to its accent, for the smallest to the largest norm of a graph."""

    def __init__(self, norms: Iterable[float | None]) -> None:
        logs = [math.log10(norm) for norm in norms if norm is not None and math.isfinite(norm) and norm > _SMALLEST]
        self._low, self._high = (min(logs), max(logs)) if logs else (0.0, 0.0)
        self.is_empty = not logs

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest norm."""
        return 10**self._low, 10**self._high

    def share(self, norm: float) -> float:
        """Position of a norm on the scale, from 0 to 1."""
        if not math.isfinite(norm):
            return 1.0
        if norm <= _SMALLEST or self._high - self._low < 1e-9:
            return 0.0 if norm <= _SMALLEST else 0.5
        return min(max((math.log10(norm) - self._low) / (self._high - self._low), 0.0), 1.0)

    def color(self, norm: float | None, theme: Theme) -> QColor:
        """Red for NaN and infinity, gray for unknown norms."""
        if norm is None:
            return theme.color("border")
        if not math.isfinite(norm):
            return theme.color("error")
        return self.color_at(self.share(norm), theme)

    def color_at(self, share: float, theme: Theme) -> QColor:
        """Return the color at a position of the scale, from 0 to 1."""
        return mix(theme.color("pressed"), theme.color("accent"), share)
