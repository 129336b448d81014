"""Registries of the classes that users choose from, and the parameters declared by their signatures.

A layer, loss, optimizer, transform, data set or metric is declared once, by its class:

    @LAYERS.register(category="Linear")
    class Linear(Module):
        \"\"\"Affine map ``y = x Wᵀ + b``.

        Args:
            in_features: size of the last input dimension
            out_features: size of the last output dimension
            bias: add a learned offset
        \"\"\"

        def __init__(self, in_features: Annotated[Size, FromInput(-1)], out_features: Size, bias: bool = True): ...

Forms, the headless catalogue, documentation and tests are derived from `parameters(Linear)`.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import reprlib
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar, cast

from engine.errors import RegistryError
from engine.relative_sizes import RelativeTo, parse_factor

T = TypeVar("T", bound=type)


# -- annotations ------------------------------------------------------------------------------


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

Learns = Literal["", "classes", "numbers", "answers"]
"""Targets of a loss: class indices or probabilities, numbers, or binary labels."""

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


# -- the registry -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """One declared class. `key` is unique, such as "nn.Linear"."""

    key: str
    target: type
    category: str
    title: str
    was: tuple[str, ...] = ()
    """Former keys, which can still be read from files."""
    outputs: tuple[str, ...] = ("output",)
    tags: tuple[str, ...] = field(default=())
    """Further search terms."""
    learns: Learns = ""
    """Kind of targets of a loss, if only one makes sense."""

    @property
    def summary(self) -> str:
        """Return the first line of the docstring."""
        return documentation(self.target).partition("\n")[0]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return parameters(self.target)


class Registry:
    """Declared classes by key. Refuses duplicates and keeps former keys readable."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._entries: dict[str, RegistryEntry] = {}
        self._old: dict[str, str] = {}

    def register(
        self,
        *,
        category: str,
        title: str | None = None,
        was: tuple[str, ...] = (),
        outputs: tuple[str, ...] = ("output",),
        tags: tuple[str, ...] = (),
        learns: Learns = "",
    ) -> Callable[[T], T]:
        def declare(target: T) -> T:
            key = f"{self.prefix}.{target.__name__}"
            for name in (key, *was):
                if name in self._entries or name in self._old:
                    raise RegistryError(f"{name} is declared twice. Rename one of the two classes.")
            self._entries[key] = RegistryEntry(
                key, target, category, title or target.__name__, was, outputs, tags, learns
            )
            self._old.update(dict.fromkeys(was, key))
            return target

        return declare

    def __getitem__(self, key: str) -> RegistryEntry:
        try:
            return self._entries[self._old.get(key, key)]
        except KeyError:
            raise RegistryError(f"No class is registered as {key!r}. Registered: {', '.join(self._entries)}.") from None

    def __contains__(self, key: object) -> bool:
        return key in self._entries or key in self._old

    def __iter__(self) -> Iterator[RegistryEntry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)


LAYERS = Registry("nn")
LOSSES = Registry("nn")
OPTIMIZERS = Registry("optim")
SCHEDULERS = Registry("lr_scheduler")
TRANSFORMS = Registry("transforms")
DATASETS = Registry("data")
METRICS = Registry("metrics")


# -- signature → schema -----------------------------------------------------------------------


def parameters(target: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the parameters of a class or function: its annotated arguments, with bounds and help.

    Arguments without a type that a form can show (tensors, modules, callables) are left out.
    """
    function = inspect.unwrap(target.__init__ if isinstance(target, type) else target)
    hints = typing.get_type_hints(function, include_extras=True)
    helps = argument_help(target)
    found = (
        _parameter(name, hints[name], argument.default, helps.get(name, ""))
        for name, argument in inspect.signature(function).parameters.items()
        if name in hints and name != "self"
    )
    return tuple(parameter for parameter in found if parameter is not None)


def documentation(target: Callable[..., Any]) -> str:
    """Return a docstring without code markup."""
    return _plain(inspect.getdoc(target) or "")


def _plain(text: str) -> str:
    return text.replace("`", "")


def argument_help(target: Callable[..., Any]) -> dict[str, str]:
    """Return the lines of the ``Args:`` sections of a function, or of a class and its bases, by argument."""
    documented = reversed(target.__mro__) if isinstance(target, type) else (target,)
    return {name: text for one in documented for name, text in _own_help(one.__doc__ or "")}


@functools.cache
def _own_help(docstring: str) -> tuple[tuple[str, str], ...]:
    text = _plain(inspect.cleandoc(docstring))
    section = re.search(r"^Args:\n((?:[ ]{4}.*\n?|\n)+)", text, re.MULTILINE)
    found = re.findall(r"^ {4}(\w+): ((?:.*\n?)(?: {5,}.*\n?)*)", section[1] if section else "", re.MULTILINE)
    return tuple((name, " ".join(help.split())) for name, help in found)


def _parameter(name: str, hint: Any, default: Any, help: str) -> Parameter | None:
    hint, extras = _strip(hint)
    options = _union(hint)
    optional = type(None) in options
    options = [option for option in options if option is not type(None)]
    stripped = [_strip(option) for option in options]
    extras += [extra for _, inner in stripped for extra in inner]
    kind, choices = _kind([bare for bare, _ in stripped])
    path = next((extra for extra in extras if isinstance(extra, PathTo)), None)
    if kind is None:
        return None
    length, single = _length([bare for bare, _ in stripped])
    preset = next((extra for extra in extras if isinstance(extra, Preset)), None)
    return Parameter(
        name=name,
        kind="path" if path else kind,
        default=default if preset is None else preset.value,
        is_preset=preset is not None,
        optional=optional,
        range=next((extra for extra in extras if isinstance(extra, Range)), None),
        length=length,
        single=single,
        choices=choices,
        from_input=next((extra for extra in extras if isinstance(extra, FromInput)), None),
        relative_to=next((extra for extra in extras if isinstance(extra, RelativeTo)), None),
        from_training=any(isinstance(extra, FromTraining) for extra in extras),
        path=path,
        help=help,
    )


def _strip(hint: Any) -> tuple[Any, list[Any]]:
    """Return a type without its Annotated wrappers, and their metadata; includes element annotations of a tuple."""
    extras: list[Any] = []
    while typing.get_origin(hint) is Annotated:
        hint, *more = typing.get_args(hint)
        extras += more
    if typing.get_origin(hint) is tuple:
        extras += [extra for item in typing.get_args(hint) for extra in _strip(item)[1]]
    return hint, extras


def _union(hint: Any) -> list[Any]:
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return list(typing.get_args(hint)) if is_union else [hint]


def _length(options: list[Any]) -> tuple[int | None, bool]:
    """Return the fixed length of a tuple among the options, and whether one number is allowed as well."""
    found = next((option for option in options if typing.get_origin(option) in _SEQUENCES), None)
    items = typing.get_args(found) if typing.get_origin(found) is tuple else ()
    return None if not items or Ellipsis in items else len(items), any(option in (int, float) for option in options)


_SEQUENCES = (tuple, Sequence)


def _kind(options: list[Any]) -> tuple[Kind | None, tuple[Any, ...]]:
    literals = tuple(
        value for option in options if typing.get_origin(option) is Literal for value in typing.get_args(option)
    )
    tuples = [option for option in options if typing.get_origin(option) in _SEQUENCES]
    if tuples:
        element = _strip(typing.get_args(tuples[0])[0])[0]
        return ("ints" if element is int else "floats" if element is float else None), literals
    simple: dict[Any, Kind] = {bool: "bool", float: "float", int: "int", str: "str"}
    # int | float is a float; for other unions the first type counts.
    found: list[Kind] = [simple[option] for option in options if option in simple]
    kinds: list[Kind] = sorted(found, key=lambda kind: kind != "float")
    if literals:
        kinds.append("choice")
    return next(iter(kinds), None), literals
