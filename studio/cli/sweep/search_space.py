"""``--param NODE.param=VALUES``: the values that a sweep tries."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from engine.dtypes import float64
from engine.random import Generator
from studio.cli.assignments import apply_assignments, parameter_at
from studio.cli.error_output import InputError
from studio.document.model import Document
from studio.document.training_settings import TRAINING_SETTINGS
from studio.nodes.catalogue import Catalogue

TrialValues: TypeAlias = dict[str, str]
"""A value for each place, as one would type it: {"adam.lr": "0.01"}."""

_EXAMPLE = "--param adam.lr=0.001,0.01 or --param adam.lr=1e-4..1e-1:log"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(:log)?")
_DRAWS = 100
"""For each trial, until one has values that no other has."""


@dataclass(frozen=True)
class Choices:
    """Some values of one place."""

    place: str
    values: tuple[str, ...]

    def at(self, share: float) -> str:
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]


@dataclass(frozen=True)
class Interval:
    """All numbers of one place from `low` to `high`, both included."""

    place: str
    low: float
    high: float
    logarithmic: bool
    whole: bool

    def at(self, share: float) -> str:
        """The number at a share of the way, with four digits, so that it can be typed."""
        low, high = (self.low, self.high + 1) if self.whole else (self.low, self.high)
        if self.logarithmic:
            found = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        else:
            found = low + share * (high - low)
        if self.whole:
            return str(min(math.floor(found), int(self.high)))
        return f"{min(max(float(f'{found:.4g}'), self.low), self.high):g}"


SearchSpace: TypeAlias = list[Choices | Interval]


def parse_search_space(document: Document, catalogue: Catalogue, texts: Sequence[str]) -> SearchSpace:
    """What is asked for. Raises InputError for a place or a value that does not fit the document."""
    if not texts:
        raise InputError(f"A sweep needs values to try: {_EXAMPLE}.")
    found: SearchSpace = []
    for text in texts:
        place, equals, values = (part.strip() for part in text.partition("="))
        label = f"--param {text!r}"
        if not (place and equals and values):
            raise InputError(f"{label}: write it as NODE.param=VALUES: {_EXAMPLE}.")
        if any(place == other.place for other in found):
            raise InputError(f"{label}: {place} has values already. Give them all at once, with commas between them.")
        match = _RANGE.fullmatch(values)
        if match is not None:
            found.append(_interval(document, catalogue, place, match, label))
        else:
            found.append(_choices(document, catalogue, place, values, label))
    return found


def all_combinations(space: SearchSpace) -> list[TrialValues]:
    """All combinations; the last place changes fastest. Raises InputError for a range, which has no end of them."""
    for one in space:
        if isinstance(one, Interval):
            raise InputError(f"{one.place} is drawn from a range: say with --trials how many trials there are to be.")
    choices = [[(one.place, value) for value in one.values] for one in space if isinstance(one, Choices)]
    return [dict(combination) for combination in itertools.product(*choices)]


def random_combinations(space: SearchSpace, trials: int, seed: int) -> list[TrialValues]:
    """So many different combinations at random, or all there are. The first ones do not depend on how many."""
    if all(isinstance(one, Choices) for one in space) and len(every := all_combinations(space)) <= trials:
        return every
    found: dict[tuple[str, ...], TrialValues] = {}
    for number in range(_DRAWS * trials):
        values = {one.place: one.at(_random_fraction(seed, number, one.place)) for one in space}
        found.setdefault(tuple(values.values()), values)
        if len(found) == trials:
            break
    return list(found.values())


def format_values(values: TrialValues) -> str:
    """On one line."""
    return " ".join(f"{place}={value}" for place, value in values.items())


def _random_fraction(seed: int, number: int, place: str) -> float:
    """Of [0, 1): whatever else is drawn beside it."""
    return float(Generator(seed).fork("trial", number, place).uniform(dtype=float64))


def _choices(document: Document, catalogue: Catalogue, place: str, values: str, label: str) -> Choices:
    """Each is tried on the document, so that a mistake is told before anything trains."""
    declared = parameter_at(document, catalogue, place)
    found: dict[str, None] = {}
    for value in _split(values):
        apply_assignments(document, catalogue, [f"{place}={value}"], label=label)
        if declared is not None and declared.kind == "path" and value:
            value = str(Path(value).expanduser().absolute())
        found[value] = None
    return Choices(place, tuple(found))


def _interval(
    document: Document, catalogue: Catalogue, place: str, match: re.Match[str], label: str
) -> Choices | Interval:
    kind = _number_kind(document, catalogue, place)
    low, high, logarithmic = float(match[1]), float(match[2]), match[3] is not None
    for end in (match[1], match[2]):
        apply_assignments(document, catalogue, [f"{place}={end}"], label=label)
    if kind is None:
        raise InputError(f"{label}: {place} is no number, so it has no range. Give values with commas between them.")
    if not low < high:
        raise InputError(
            f"{label}: a range goes from its smallest to its largest number; {low:g} is not below {high:g}."
        )
    if logarithmic and low <= 0:
        raise InputError(f"{label}: a range of logarithms begins above 0, not at {low:g}.")
    return Interval(place, low, high, logarithmic, whole=kind is int)


def _number_kind(document: Document, catalogue: Catalogue, place: str) -> type | None:
    """Whether a place takes whole numbers or any; None for what takes no numbers."""
    name, _, setting = place.partition(".")
    if name == "training" and name not in document.nodes:
        found = TRAINING_SETTINGS.get(setting)
        declared = None if found is None else found.parameter
    else:
        declared = parameter_at(document, catalogue, place)
    kinds = {"int": int, "ints": int, "float": float, "floats": float}
    return None if declared is None else kinds.get(declared.kind)


def _split(values: str) -> Iterator[str]:
    """At commas that are not within brackets."""
    depth, start = 0, 0
    for place, sign in enumerate(values):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            yield values[start:place].strip()
            start = place + 1
    yield values[start:].strip()


__all__ = [
    "Choices",
    "Interval",
    "SearchSpace",
    "TrialValues",
    "all_combinations",
    "format_values",
    "parse_search_space",
    "random_combinations",
]
