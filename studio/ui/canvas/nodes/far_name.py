"""The name of a node at low zoom: as large as fits, in up to two lines. Does not use Qt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

FAR_TEXT = 11
"""Preferred size of a name on the screen in pixels."""
_SIZES = (1.0, 10 / FAR_TEXT, 9 / FAR_TEXT)
"""Font sizes to try, relative to the preferred one."""
_LINE = 1.1
"""Distance of two lines in font sizes."""
_CAP, _DESCENT = 0.73, 0.22
"""Height of capital letters and depth of letters below the line, in font sizes."""
_FEWEST = 4
"""A name is not drawn if only fewer characters have space."""
_BREAKS = re.compile(r"(?<=[_\-. /])(?=[^_\-. /])|(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)")

Measure = Callable[[str], float]
"""The width of a text in font sizes."""


class FarName(NamedTuple):
    """Lines of text with the left ends of their base lines, relative to the node."""

    pixels: int
    """Font size in canvas units."""
    lines: tuple[tuple[str, float, float], ...]


def far_name(name: str, width: float, height: float, pixels: int, measure: Measure) -> FarName:
    """Place a name in a node of this size. It is elided only if it does not fit in two lines of the smallest size.

    Args:
        pixels: preferred font size in canvas units
    """
    sizes = [round(pixels * size) for size in _SIZES]
    for size in sizes:
        for lines in _candidates(name, measure):
            if _height(len(lines), size) <= height and max(map(measure, lines)) * size <= width:
                return _placed(lines, width, height, size, measure)
    smallest = sizes[-1]
    lines = _elided(name, width / smallest, 2 if _height(2, smallest) <= height else 1, measure)
    return _placed(lines, width, height, smallest, measure)


def _candidates(name: str, measure: Measure) -> Iterator[tuple[str, ...]]:
    """The name in one line and in two lines of similar width."""
    yield (name,)
    pairs = [(name[: found.start()], name[found.start() :]) for found in _BREAKS.finditer(name)]
    if pairs:
        yield min(pairs, key=lambda pair: max(measure(pair[0]), measure(pair[1])))


def _elided(name: str, room: float, count: int, measure: Measure) -> tuple[str, ...]:
    """The beginning of the name in one or two lines; nothing without space for a few characters."""
    first = _fitting(name, room - (measure("…") if count == 1 else 0.0), measure)
    rest = _fitting(name[first:], room - measure("…"), measure) if count == 2 else 0
    if first + rest < _FEWEST:
        return ()
    if count == 1:
        return (name[:first] + "…",)
    return name[:first], name[first : first + rest] + ("…" if first + rest < len(name) else "")


def _fitting(text: str, room: float, measure: Measure) -> int:
    """Number of characters that fit."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if measure(text[:middle]) <= room else (low, middle - 1)
    return low


def _height(lines: int, size: float) -> float:
    return (_CAP + _LINE * (lines - 1) + _DESCENT) * size


def _placed(lines: tuple[str, ...], width: float, height: float, size: int, measure: Measure) -> FarName:
    """Center the lines in the node, counting a line as high as a capital letter."""
    top = (height - (_CAP + _LINE * (len(lines) - 1)) * size) / 2
    return FarName(
        size,
        tuple(
            (line, (width - measure(line) * size) / 2, top + (_CAP + _LINE * index) * size)
            for index, line in enumerate(lines)
        ),
    )
