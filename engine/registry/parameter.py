"""One argument that a user sets, and the annotations that declare its bounds and its relation to the input."""

from __future__ import annotations

import inspect
import math
import re
import reprlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, cast

from engine.relative_sizes import RelativeTo, parse_factor


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds of a number; `ge`/`le` include the bound, `gt`/`lt` do not."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    def allows(self, value: float) -> bool:
        return (
            (self.ge is None or value >= self.ge)
            and (self.gt is None or value > self.gt)
            and (self.le is None or value <= self.le)
            and (self.lt is None or value < self.lt)
        )

    def __str__(self) -> str:
        bounds = {"≥": self.ge, ">": self.gt, "≤": self.le, "<": self.lt}
        return " and ".join(f"{sign} {_shown(bound)}" for sign, bound in bounds.items() if bound is not None)


def _shown(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"


@dataclass(frozen=True, slots=True)
class FromInput:
    """The argument equals the size of dimension `axis` of the layer's first input."""

    axis: int


@dataclass(frozen=True, slots=True)
class Preset:
    """Default of forms and project files, for an argument whose default is meant for scripts."""

    value: Any


@dataclass(frozen=True, slots=True)
class FromTraining:
    """The argument equals the number of epochs, or optimizer steps, that the schedule runs for."""


@dataclass(frozen=True, slots=True)
class PathTo:
    """The argument is a path to a `kind` on disk."""

    kind: Literal["file", "folder"]
    suffixes: tuple[str, ...] = ()


LARGEST = 2**31 - 1
"""Default bounds of integers: larger than any size, and the product of two does not overflow."""

GREATEST = 1e30
"""Default bounds of other numbers: within float32, with room for arithmetic."""

LONGEST_VALUE = 80
"""Longest wrong value that a message quotes, in characters."""

LONGEST_PATH = 4096
LONGEST_FILE_NAME = 255
"""Longest path and file name that common file systems allow, in characters."""

Size = Annotated[int, Range(ge=1)]
Count = Annotated[int, Range(ge=0)]
Repeats = Annotated[int, Range(ge=1, le=1000)]
"""Number of repetitions of a part of a layer, each with separate parameters."""
AnyRepeats = Annotated[int, Range(ge=0, le=1000)]
"""Like `Repeats`, but 0 is allowed."""
Seed = Annotated[int, Range(ge=0, le=2**63 - 1)]
Probability = Annotated[float, Range(ge=0, le=1)]
Positive = Annotated[float, Range(gt=0)]
NonNegative = Annotated[float, Range(ge=0)]

REQUIRED: Any = inspect.Parameter.empty

Kind = Literal["bool", "int", "float", "str", "choice", "path", "ints", "floats"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument that a user sets. `kind` "ints"/"floats" is a tuple; with `single`, one number is allowed too."""

    name: str
    kind: Kind
    default: Any = REQUIRED
    is_preset: bool = False
    """Whether `default` differs from the function's default, so that generated code has to pass it."""
    optional: bool = False
    """Whether None is allowed."""
    range: Range | None = None
    length: int | None = None
    """Length of a tuple; None for any length."""
    single: bool = True
    """Whether one number may be given instead of a tuple."""
    choices: tuple[Any, ...] = ()
    """Values of a choice; of a number, the words allowed in its place, such as "same" for a padding."""
    from_input: FromInput | None = None
    relative_to: RelativeTo | None = None
    """Whether the value may be a text such as "4 * input"."""
    from_training: bool = False
    """Whether the value depends on the length of the training."""
    keeps_integers: bool = False
    """Whether a whole number stays an integer, so that the result of an op with an integer tensor is one too."""
    path: PathTo | None = None
    help: str = ""
    words: tuple[str, ...] = ()
    """Words allowed as elements of a tuple, such as "N" in the sizes "N, -1, 4"."""
    grammar: Callable[[str], str | None] | None = field(default=None, compare=False, repr=False)
    """Returns why a text is invalid, as the end of a sentence, or None."""
    is_code: bool = False
    """Whether the text is Python source of several lines."""

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    def accepts_text(self, text: str) -> bool:
        """Whether a text is a valid value of a number: one of its words, or a relative size."""
        if self.kind not in _GREATEST:
            return False
        return text in self.choices or (self.relative_to is not None and parse_factor(text) is not None)

    @property
    def _noun(self) -> str:
        words = [*map(repr, () if self.kind == "choice" else self.choices)]
        if self.relative_to is not None:
            words.append("a size such as '4 * input'")
        return " or ".join((_NOUNS[self.kind], *words))

    def problem(self, value: Any) -> str | None:
        """Return why `value` is invalid, as the end of a sentence that starts with the argument's name; else None."""
        if value is None:
            return None if self.optional else f"must be {self._noun}, not empty"
        if isinstance(value, str) and self.accepts_text(value):
            return None
        if self.kind == "choice":
            is_choice = any(type(value) is type(choice) and value == choice for choice in self.choices)
            return None if is_choice else f"must be one of {', '.join(map(repr, self.choices))}, not {_quoted(value)}"
        if self.kind in ("ints", "floats"):
            if not isinstance(value, (list, tuple)):
                return self._scalar_problem(value) or self._length_problem(None)
            items = list(cast("list[Any]", value))
            numbers = [item for item in items if item not in self.words]
            wrong = next((problem for item in numbers if (problem := self._scalar_problem(item))), None)
            return wrong or self._length_problem(len(items))
        return self._scalar_problem(value)

    def _length_problem(self, count: int | None) -> str | None:
        """Return what is wrong with the length of a tuple; `count` is None for one number without a tuple."""
        fits = self.single if count is None else count > 0 if self.length is None else count == self.length
        if fits:
            return None
        expected_count = (
            "one or more" if self.length is None else f"one or {self.length}" if self.single else str(self.length)
        )
        return f"must be {expected_count} {_NOUNS[self.kind]}, not {1 if count is None else count}"

    def _scalar_problem(self, value: Any) -> str | None:
        if not isinstance(value, _TYPES[self.kind]) or (isinstance(value, bool) and self.kind != "bool"):
            return f"must be {self._noun}, not {_quoted(value)}"
        if self.kind == "path":
            return _path_problem(str(value))
        if self.grammar is not None:
            return self.grammar(str(value))
        if isinstance(value, (int, float)) and not math.isfinite(_float(value)):
            return f"must be a finite number, not {_quoted(value)}"
        if self.range is not None and not self.range.allows(value):
            return f"must be {self.range}, not {_quoted(value)}"
        if self.kind in _GREATEST and not (within := _bounded(self.range, _GREATEST[self.kind])).allows(value):
            return f"must be {within}, not {_quoted(value)}"
        return None


_GREATEST: dict[str, float] = {"int": LARGEST, "ints": LARGEST, "float": GREATEST, "floats": GREATEST}


def _bounded(declared: Range | None, greatest: float) -> Range:
    """Return the bounds of a number: those of its type within the default bounds."""
    bounds = Range() if declared is None else declared
    ge = -greatest if bounds.ge is None and bounds.gt is None else bounds.ge
    return replace(bounds, ge=ge, le=greatest if bounds.le is None and bounds.lt is None else bounds.le)


def _quoted(value: Any) -> str:
    """Return a wrong value as text for a message."""
    text = reprlib.repr(value) if isinstance(value, int) else repr(value)  # Python refuses to write very long numbers
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _float(number: float) -> float:
    """Return the nearest float; infinity for larger integers."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _path_problem(text: str) -> str | None:
    if "\0" in text:
        return "must be a path without null characters"
    if len(text) > LONGEST_PATH:
        return f"must be a path of at most {LONGEST_PATH:,} characters, not {len(text):,}"
    longest = max(map(len, re.split(r"[/\\]", text)))
    if longest > LONGEST_FILE_NAME:
        return f"must name files with at most {LONGEST_FILE_NAME} characters each, not {longest:,}"
    return None


_TYPES: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "ints": (int,),
    "float": (int, float),
    "floats": (int, float),
    "str": (str,),
    "path": (str,),
}
_NOUNS = {
    "bool": "true or false",
    "int": "a whole number",
    "ints": "whole numbers",
    "float": "a number",
    "floats": "numbers",
    "str": "text",
    "path": "a path",
    "choice": "one of the choices",
}
