"""Scales that turn figures into levels of color: amounts, norms, shares and changes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

LEVELS = 8
"""Number of colors of amounts above 0."""
CHANGES = 4
"""Number of colors of increases, and of decreases."""

ScaleKind: TypeAlias = Literal["amount", "log", "share", "ratio", "difference"]
_DECADES = 12
"""Largest range of a logarithmic scale: smaller values have the lowest color."""
_LARGEST_RATIO = 2.0**20


class Shade(NamedTuple):
    """A color on the canvas."""

    kind: Literal["amount", "change", "class", "none", "broken"]
    """"none": without a figure; "broken": the figure is NaN or infinite."""
    level: int = 0
    """From 0 to LEVELS for amounts, from -CHANGES to CHANGES for changes; the number of a class."""


NO_FIGURE, BROKEN = Shade("none"), Shade("broken")


@dataclass(frozen=True, slots=True)
class ColorScale:
    """Levels between two figures.

    Levels of amounts have equal width in the square root, so that small values differ from 0. Those of norms and ratios
    have equal width in the logarithm.
    """

    kind: ScaleKind
    low: float
    high: float

    @property
    def levels(self) -> tuple[Shade, ...]:
        """All colors from the lowest to the highest."""
        if self.is_change:
            return tuple(Shade("change", level) for level in range(-CHANGES, CHANGES + 1))
        return tuple(Shade("amount", level) for level in range(LEVELS + 1))

    @property
    def is_change(self) -> bool:
        """Whether the figures are changes, which have a neutral middle."""
        return self.kind in ("ratio", "difference")

    def shade(self, value: float | None) -> Shade:
        """The color of a figure; None: there is none."""
        if value is None:
            return NO_FIGURE
        if math.isnan(value) or (math.isinf(value) and self.kind != "ratio"):
            return BROKEN
        if self.is_change:
            return Shade("change", round(min(max(self._position(value), -1.0), 1.0) * CHANGES))
        if value <= 0:
            return Shade("amount", 0)
        at = min(max(self._position(value), 0.0), 1.0) * LEVELS
        return Shade("amount", min(math.floor(at) + 1, LEVELS) if self.kind == "log" else max(round(at), 1))

    def range_of(self, shade: Shade) -> tuple[float, float]:
        """The figures that have a color, from the smallest to the largest."""
        if self.is_change:
            return self._value((shade.level - 0.5) / CHANGES), self._value((shade.level + 0.5) / CHANGES)
        if shade.level == 0:
            return 0.0, 0.0
        shift = -1.0 if self.kind == "log" else -0.5
        first = 0.0 if shade.level == 1 else (shade.level + shift) / LEVELS
        return self._value(first), self._value(min((shade.level + shift + 1) / LEVELS, 1.0))

    def _position(self, value: float) -> float:
        """From 0 to 1 between the ends; for changes from -1 to 1."""
        match self.kind:
            case "amount":
                return math.sqrt(value / self.high) if self.high else 0.0
            case "share" | "difference":
                return value / self.high
            case "log":
                return math.log(value / self.low) / math.log(self.high / self.low)
            case "ratio":
                if value <= 0 or math.isinf(value):
                    return 1.0 if value > 0 else -1.0
                return math.log(value) / math.log(self.high)

    def _value(self, at: float) -> float:
        match self.kind:
            case "amount":
                return at * at * self.high
            case "share" | "difference":
                return at * self.high
            case "log":
                return self.low * (self.high / self.low) ** at
            case "ratio":
                return self.high**at


def fitted_scale(kind: ScaleKind, values: Iterable[float], around: ColorScale | None = None) -> ColorScale:
    """The scale that contains these figures, and another scale of the same kind. Ends are round numbers.

    Args:
        around: the scale of other steps, so that colors can be compared over time
    """
    found = [value for value in values if math.isfinite(value)]
    match kind:
        case "share":
            scale = ColorScale(kind, 0.0, 1.0)
        case "amount":
            scale = ColorScale(kind, 0.0, max(found, default=0.0))
        case "log":
            scale = _decades([value for value in found if value > 0])
        case "ratio":
            powers = [abs(math.log2(value)) for value in found if value > 0]
            scale = ColorScale(
                kind, 0.0, min(2.0 ** max(math.ceil(max(powers, default=1.0) - 1e-6), 1), _LARGEST_RATIO)
            )
            scale = ColorScale(kind, 1 / scale.high, scale.high)
        case "difference":
            most = max((abs(value) for value in found), default=0.0)
            scale = ColorScale(kind, -most or -1.0, most or 1.0)
    if around is None or around.kind != kind:
        return scale
    low, high = min(scale.low, around.low), max(scale.high, around.high)
    return ColorScale(kind, max(low, high / 10.0**_DECADES) if kind == "log" else low, high)


def _decades(values: list[float]) -> ColorScale:
    """Whole powers of 10 around positive values."""
    if not values:
        return ColorScale("log", 0.1, 1.0)
    high = math.ceil(math.log10(max(values)) - 1e-6)
    low = max(math.floor(math.log10(min(values)) + 1e-6), high - _DECADES)
    return ColorScale("log", 10.0 ** min(low, high - 1), 10.0**high)


__all__ = ["BROKEN", "CHANGES", "LEVELS", "NO_FIGURE", "ColorScale", "ScaleKind", "Shade", "fitted_scale"]
