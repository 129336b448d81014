"""The search space of a sweep, parsed from ``--param NODE.PARAM=VALUES``."""

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
"""Parameter values as text, by key: {"adam.lr": "0.01"}."""

_EXAMPLE = "--param adam.lr=0.001,0.01 or --param adam.lr=1e-4..1e-1:log"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(:log)?")
_MAX_DRAWS_PER_TRIAL = 100
"""Attempts per trial to draw a combination that is not in use."""


@dataclass(frozen=True)
class Choices:
    """A list of values for one key."""

    key: str
    values: tuple[str, ...]

    def at(self, fraction: float) -> str:
        return self.values[min(int(fraction * len(self.values)), len(self.values) - 1)]


@dataclass(frozen=True)
class Interval:
    """A range of numbers for one key, from `low` to `high` inclusive."""

    key: str
    low: float
    high: float
    logarithmic: bool
    is_integer: bool

    def at(self, fraction: float) -> str:
        """The number at a fraction (0 to 1) of the range, rounded to four digits."""
        low, high = (self.low, self.high + 1) if self.is_integer else (self.low, self.high)
        if self.logarithmic:
            value = math.exp(math.log(low) + fraction * (math.log(high) - math.log(low)))
        else:
            value = low + fraction * (high - low)
        if self.is_integer:
            return str(min(math.floor(value), int(self.high)))
        return f"{min(max(float(f'{value:.4g}'), self.low), self.high):g}"


SearchSpace: TypeAlias = list[Choices | Interval]


def parse_search_space(document: Document, catalogue: Catalogue, texts: Sequence[str]) -> SearchSpace:
    """Parse --param options. Raises InputError for an unknown key or an invalid value."""
    if not texts:
        raise InputError(f"a sweep needs at least one --param, for example {_EXAMPLE}.")
    found: SearchSpace = []
    for text in texts:
        key, equals, values = (part.strip() for part in text.partition("="))
        label = f"--param {text!r}"
        if not (key and equals and values):
            raise InputError(f"{label}: expected NODE.PARAM=VALUES, for example {_EXAMPLE}.")
        if any(key == other.key for other in found):
            raise InputError(f"{label}: {key} is given twice. Put all values in one list, separated by commas.")
        match = _RANGE.fullmatch(values)
        if match is not None:
            found.append(_interval(document, catalogue, key, match, label))
        else:
            found.append(_choices(document, catalogue, key, values, label))
    return found


def all_combinations(space: SearchSpace) -> list[TrialValues]:
    """All combinations; the last key changes fastest. Raises InputError for ranges, which need --trials."""
    for one in space:
        if isinstance(one, Interval):
            raise InputError(f"{one.key} is a range. Set the number of random trials with --trials.")
    choices = [[(one.key, value) for value in one.values] for one in space if isinstance(one, Choices)]
    return [dict(combination) for combination in itertools.product(*choices)]


def random_combinations(space: SearchSpace, trials: int, seed: int) -> list[TrialValues]:
    """N different random combinations, or all if there are fewer. The first ones do not depend on N."""
    if all(isinstance(one, Choices) for one in space) and len(combinations := all_combinations(space)) <= trials:
        return combinations
    found: dict[tuple[str, ...], TrialValues] = {}
    for number in range(_MAX_DRAWS_PER_TRIAL * trials):
        values = {one.key: one.at(_random_fraction(seed, number, one.key)) for one in space}
        found.setdefault(tuple(values.values()), values)
        if len(found) == trials:
            break
    return list(found.values())


def format_values(values: TrialValues) -> str:
    """Format values on one line."""
    return " ".join(f"{key}={value}" for key, value in values.items())


def _random_fraction(seed: int, number: int, key: str) -> float:
    """A random number in [0, 1) that depends only on the seed, the trial number and the key."""
    return float(Generator(seed).fork("trial", number, key).uniform(dtype=float64))


def _choices(document: Document, catalogue: Catalogue, key: str, values: str, label: str) -> Choices:
    """Parse a list of values. Each is applied to the document, so that errors appear before training."""
    declared = parameter_at(document, catalogue, key)
    found: dict[str, None] = {}
    for value in _split(values):
        apply_assignments(document, catalogue, [f"{key}={value}"], label=label)
        if declared is not None and declared.kind == "path" and value:
            value = str(Path(value).expanduser().absolute())
        found[value] = None
    return Choices(key, tuple(found))


def _interval(
    document: Document, catalogue: Catalogue, key: str, match: re.Match[str], label: str
) -> Choices | Interval:
    kind = _number_kind(document, catalogue, key)
    low, high, logarithmic = float(match[1]), float(match[2]), match[3] is not None
    for end in (match[1], match[2]):
        apply_assignments(document, catalogue, [f"{key}={end}"], label=label)
    if kind is None:
        raise InputError(f"{label}: {key} is not a number and has no range. List values separated by commas.")
    if not low < high:
        raise InputError(
            f"{label}: {low:g} is not below {high:g}. Write a range from its lowest to its highest number."
        )
    if logarithmic and low <= 0:
        raise InputError(f"{label}: a logarithmic range must start above 0, not at {low:g}.")
    return Interval(key, low, high, logarithmic, is_integer=kind is int)


def _number_kind(document: Document, catalogue: Catalogue, key: str) -> type | None:
    """int or float for keys that take numbers, else None."""
    name, _, setting = key.partition(".")
    if name == "training" and name not in document.nodes:
        setting_declared = TRAINING_SETTINGS.get(setting)
        declared = None if setting_declared is None else setting_declared.parameter
    else:
        declared = parameter_at(document, catalogue, key)
    kinds = {"int": int, "ints": int, "float": float, "floats": float}
    return None if declared is None else kinds.get(declared.kind)


def _split(values: str) -> Iterator[str]:
    """Split at commas outside brackets."""
    depth, start = 0, 0
    for index, character in enumerate(values):
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            yield values[start:index].strip()
            start = index + 1
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
