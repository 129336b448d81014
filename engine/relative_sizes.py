"""Sizes that project files give relative to the input: "input", "4 * input", "input / 16"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_LARGEST_FACTOR = 10_000
_FORM = re.compile(r"(?:(?P<factor>\d{1,9}(?:\.\d{1,6})?) \* )?input(?: / (?P<divisor>\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class RelativeTo:
    """The argument may be a text such as "4 * input", relative to the size of dimension `axis` of the first input."""

    axis: int


def parse_factor(text: str) -> Fraction | None:
    """Return the factor of a relative size: 1/16 for "input / 16". None for any other text."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    factor, divisor = Fraction(match["factor"] or 1), int(match["divisor"] or 1)
    return factor / divisor if 0 < factor <= _LARGEST_FACTOR and 0 < divisor <= _LARGEST_FACTOR else None


def relative_size(text: str, size: int) -> int:
    """Return a relative size for an input of `size`: rounded down, at least 1. Raises ValueError for other texts."""
    factor = parse_factor(text)
    if factor is None:
        raise ValueError(f"a relative size is written as 'input', '4 * input' or 'input / 16', not {text!r}")
    return max(int(size * factor), 1)


def normalized(text: str) -> str:
    """Return a text with the spaces and the sign of a relative size: "4x input" becomes "4 * input"."""
    return re.sub(r"\s*([*×x/])\s*(?=input|\d)", lambda sign: " / " if sign[1] == "/" else " * ", text.strip())
