"""SVG drawings of curves. Colors are those of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 560.0, 240.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 12.0, 12.0, 40.0
_COLUMNS = 400
"""Parts of the x axis; in each, the lowest and the highest value are drawn."""
_LOGARITHMIC = 100.0
"""Ratio of the largest to the smallest value from which the y axis is logarithmic."""
SERIES = 8
"""Number of colors."""


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Axes:
    """Maps values to pixels."""

    x: tuple[float, float]
    y: tuple[float, float]
    is_logarithmic: bool

    def right(self, value: Any) -> Any:
        low, high = self.x
        return _LEFT + (value - low) / (high - low) * (WIDTH - _LEFT - _RIGHT)

    def down(self, value: Any) -> Any:
        low, high = (math.log10(each) for each in self.y) if self.is_logarithmic else self.y
        given = np.log10(value) if self.is_logarithmic else value
        return HEIGHT - _BOTTOM - (given - low) / (high - low) * (HEIGHT - _TOP - _BOTTOM)


def curve_drawing(title: str, lines: Sequence[Line], x_label: str = "epoch") -> str:
    """The SVG text of curves over one axis; empty if they have no finite value.

    Values that are not finite are gaps. The y axis is logarithmic if values are positive and differ by a factor of 100.
    """
    finite = [line for line in lines if np.isfinite(line.y).any()]
    if not finite:
        return ""
    axes = _axes(finite)
    parts = [
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" class="curves" role="img">',
        f"<title>{escape(title)}: {escape(', '.join(line.label for line in finite))}</title>",
        *_grid(axes, x_label),
    ]
    for number, line in enumerate(finite):
        parts += [f'<path class="line series-{number % SERIES}" d="{path}"/>' for path in _paths(line, axes)]
    return "\n".join([*parts, "</svg>"])


def _axes(lines: Sequence[Line]) -> _Axes:
    shown = [line.y[np.isfinite(line.y)] for line in lines]
    low, high = min(float(y.min()) for y in shown), max(float(y.max()) for y in shown)
    first = min(float(line.x.min()) for line in lines)
    last = max(float(line.x.max()) for line in lines)
    is_logarithmic = low > 0 and high / low >= _LOGARITHMIC
    if is_logarithmic:
        low, high = 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high))
    else:
        margin = 0.05 * (high - low) or abs(high) * 0.05 or 1.0
        low, high = low - margin, high + margin
    return _Axes((first, last if last > first else first + 1), (low, high), is_logarithmic)


def _grid(axes: _Axes, x_label: str) -> list[str]:
    parts: list[str] = []
    for value in _powers(*axes.y) if axes.is_logarithmic else ticks(*axes.y):
        y = axes.down(value)
        parts.append(f'<path class="grid" d="M{_LEFT:g} {y:.1f}H{WIDTH - _RIGHT:g}"/>')
        parts.append(f'<text x="{_LEFT - 6:g}" y="{y + 4:.1f}" text-anchor="end">{value:.6g}</text>')
    for value in ticks(*axes.x):
        x = axes.right(value)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - _BOTTOM + 16:g}" text-anchor="middle">{value:.6g}</text>')
    parts.append(
        f'<text class="axis" x="{WIDTH - _RIGHT:g}" y="{HEIGHT - 6:g}" text-anchor="end">{escape(x_label)}</text>'
    )
    return parts


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers within a range, at most `most`."""
    exact = (high - low) / most
    scale = 10 ** math.floor(math.log10(exact))
    step = next(scale * factor for factor in (1, 2, 5, 10) if scale * factor >= exact * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _powers(low: float, high: float) -> list[float]:
    first, last = round(math.log10(low)), round(math.log10(high))
    return [10.0**power for power in range(first, last + 1, max(1, math.ceil((last - first) / 6)))]


def _paths(line: Line, axes: _Axes) -> list[str]:
    """One path for each part between values that are not finite."""
    x, y = _reduced(line.x, line.y)
    gaps = [-1, *np.flatnonzero(~np.isfinite(y)).tolist(), len(y)]
    found: list[str] = []
    for before, after in pairwise(gaps):
        right, down = axes.right(x[before + 1 : after]), axes.down(y[before + 1 : after])
        if len(right) == 1:  # a dot
            right, down = np.repeat(right, 2), np.repeat(down, 2)
        if len(right):
            found.append("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(right, down, strict=True)))
    return found


def _reduced(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The lowest and the highest value of each part of the x axis, in their order."""
    if len(x) <= 2 * _COLUMNS:
        return x, y
    bounds = np.linspace(0, len(x), _COLUMNS + 1).astype(int)
    kept: list[int] = []
    for begin, end in pairwise(bounds):
        part = y[begin:end]
        if np.isfinite(part).all():
            kept += sorted({begin + int(part.argmin()), begin + int(part.argmax())})
        else:
            kept += range(begin, end)
    return x[kept], y[kept]


__all__ = ["SERIES", "Line", "curve_drawing", "ticks"]
