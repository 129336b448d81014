"""Pictures of experiments as SVG, in the colors of the text around them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

from studio.training.experiments.experiment import Bars, Curves, Picture, Series

_WIDTH, _HEIGHT = 560.0, 220.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 24.0, 40.0
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""Okabe and Ito's colors, which color-blind readers can tell apart."""
_BAR_HEIGHT, _NAME_WIDTH = 22.0, 190.0
_LETTERS = 26


def svg(picture: Picture, title: str) -> str:
    """The picture as SVG without blank lines."""
    return _curves(picture, title) if isinstance(picture, Curves) else _bars(picture, title)


def _open(width: float, height: float, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(title)}" font-family="sans-serif" font-size="12" '
        'fill="currentColor">'
    )


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _curves(picture: Curves, title: str) -> str:
    points = [(x, y) for each in picture.series for x, y in zip(each.x, each.y, strict=True) if math.isfinite(y)]
    if not points:
        return "\n".join([_open(_WIDTH, 40, title), _text(_WIDTH / 2, 24, "No finite values"), "</svg>"])
    x_range = _range((_axis(x, is_log=picture.log_x) for x, _ in points), 0.0)
    y_range = _range(_bounded([y for _, y in points]), 0.06)
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    lines = [_open(_WIDTH, _HEIGHT, title)]
    lines.append(
        f'<path d="M{_LEFT} {_TOP} V{bottom} H{right}" fill="none" stroke="currentColor" stroke-opacity="0.4"/>'
    )
    lines += [_text(_LEFT - 6, _y(value, y_range) + 4, f"{value:.3g}", "end") for value in y_range]
    ends = [10**value if picture.log_x else value for value in x_range]
    lines += [_text(_LEFT, bottom + 16, f"{ends[0]:.2g}"), _text(right, bottom + 16, f"{ends[1]:.2g}", "end")]
    lines += [_text((_LEFT + right) / 2, _HEIGHT - 6, picture.x_title), _text(12, 14, picture.y_title, "start")]
    for index, each in enumerate(picture.series):
        color = _COLORS[index % len(_COLORS)]
        lines.append(
            f'<path d="{_path(each, picture, x_range, y_range)}" fill="none" stroke="{color}" stroke-width="2"/>'
        )
        lines.append(
            f'<text x="{right}" y="{14 + 15 * index}" text-anchor="end" fill="{color}">{escape(each.name)}</text>'
        )
    for value, name in picture.marks:
        x = _x(_axis(value, is_log=picture.log_x), x_range)
        lines.append(f'<path d="M{x:.1f} {_TOP} V{bottom}" stroke="currentColor" stroke-dasharray="4 4"/>')
        lines.append(_text(x, bottom + 30, name))
    return "\n".join([*lines, "</svg>"])


def _path(series: Series, picture: Curves, x_range: tuple[float, float], y_range: tuple[float, float]) -> str:
    """Lines between finite values."""
    parts: list[str] = []
    command = "M"
    for x, y in zip(series.x, series.y, strict=True):
        if not math.isfinite(y):
            command = "M"
            continue
        height = _y(min(max(y, y_range[0]), y_range[1]), y_range)
        parts.append(f"{command}{_x(_axis(x, is_log=picture.log_x), x_range):.1f} {height:.1f}")
        command = "L"
    return " ".join(parts)


def _bars(picture: Bars, title: str) -> str:
    height = _TOP + _BAR_HEIGHT * len(picture.names) + 8
    shown = [_bar_value(value, is_log=picture.is_log) for value in picture.values]
    known = [value for value in shown if value is not None]
    low = min(known, default=0.0) - 0.5 if picture.is_log else 0.0
    span = max(max(known, default=1.0) - low, 1e-12)
    room = _WIDTH - _NAME_WIDTH - 90
    lines = [_open(_WIDTH, height, title), _text(_NAME_WIDTH, 14, picture.title, "start")]
    for index, (name, value, drawn) in enumerate(zip(picture.names, picture.values, shown, strict=True)):
        y = _TOP + _BAR_HEIGHT * index
        width = 0.0 if drawn is None else max(room * (drawn - low) / span, 1.0)
        short = name if len(name) <= _LETTERS else f"…{name[-_LETTERS + 1 :]}"
        lines.append(_text(_NAME_WIDTH - 8, y + 15, short, "end"))
        lines.append(f'<rect x="{_NAME_WIDTH}" y="{y + 4}" width="{width:.1f}" height="14" fill="{_COLORS[0]}"/>')
        lines.append(_text(_NAME_WIDTH + width + 6, y + 15, f"{value:.3g}", "start"))
    return "\n".join([*lines, "</svg>"])


def _bar_value(value: float, *, is_log: bool) -> float | None:
    """The length of a bar; None if it has none."""
    if not math.isfinite(value) or (is_log and value <= 0):
        return None
    return math.log10(value) if is_log else max(value, 0.0)


def _bounded(values: list[float]) -> list[float]:
    """The values up to a few times their first ones: a diverging loss would flatten the rest."""
    limit = 3 * max(abs(value) for value in values[:5]) + 1e-9
    return [min(value, limit) for value in values]


def _range(values: Iterable[float], margin: float) -> tuple[float, float]:
    found = list(values)
    low, high = min(found), max(found)
    room = margin * (high - low) if high > low else 0.5
    return low - room, high + room


def _axis(x: float, *, is_log: bool) -> float:
    return math.log10(x) if is_log else x


def _x(value: float, bounds: tuple[float, float]) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (value - bounds[0]) / (bounds[1] - bounds[0])


def _y(value: float, bounds: tuple[float, float]) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (value - bounds[0]) / (bounds[1] - bounds[0])


__all__ = ["svg"]
