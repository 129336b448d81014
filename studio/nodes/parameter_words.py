"""Values of parameters in a search text: `256`, `k3`, `kernel_size=3`, `layers 2`, `same`, `nobias`, `x4`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.registry import Parameter

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_NUMBERS = rf"{_NUMBER}(?:[x,]{_NUMBER})*"
_IS_NUMBERS = re.compile(_NUMBERS)
_ASSIGNED = re.compile(r"(\w+)[=:](.+)")
_ATTACHED = re.compile(rf"([a-z_×]+?)({_NUMBERS})")
_NUMERIC = frozenset({"int", "float", "ints", "floats"})
_NOT_POSITIONAL = frozenset({"eps", "seed", "ignore_index", "repeat"})
"""Numbers that are seldom set, and never meant by a number without a name."""
_SIGNS = {"x": "repeat", "×": "repeat"}
"""Signs that mean a parameter: `encoder_block x4`."""
_BOOLS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def looks_like_a_value(word: str) -> bool:
    """Whether a word is a number, or a name with one, or an assignment: more likely a parameter than a name."""
    return any(letter.isdigit() or letter in "=:" for letter in word)


def needs_number(parameters: Sequence[Parameter]) -> bool:
    """Whether a number without a name sets a required parameter."""
    return any(each.required and each.kind in _NUMERIC and not _is_inferred(each) for each in parameters)


@dataclass(slots=True)
class ParsedWords:
    """Parameters that words set, and the other words."""

    values: dict[str, Any] = field(default_factory=dict[str, Any])
    not_understood: tuple[str, ...] = ()


class ParameterWords:
    """Parses words with the parameters of one node type."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._parameters = parameters
        named = (each for each in parameters if each.name not in _NOT_POSITIONAL)
        numeric = [each for each in named if each.kind in _NUMERIC and not _is_inferred(each)]
        self._positional = sorted(numeric, key=lambda each: not each.required)
        """Parameters that a number without a name sets: required ones first."""

    def parse(self, words: Sequence[str]) -> ParsedWords:
        """Parse lower-case words. Each parameter is set at most once."""
        parsed, unknown, index = ParsedWords(), list[str](), 0
        while index < len(words):
            following = words[index + 1] if index + 1 < len(words) else None
            found = self._assigned(words[index], parsed) or self._named(words[index], following, parsed)
            if found is None:
                unknown.append(words[index])
                index += 1
                continue
            name, value, used = found
            parsed.values[name] = value
            index += used
        parsed.not_understood = tuple(unknown)
        return parsed

    def _assigned(self, word: str, parsed: ParsedWords) -> tuple[str, Any, int] | None:
        """A word with its value: `256`, `k3` or `kernel=3`. Name, value and number of words."""
        if _IS_NUMBERS.fullmatch(word):
            free = (each for each in self._positional if each.name not in parsed.values)
            return _first(self._values(free, word))
        match = _ASSIGNED.fullmatch(word) or _ATTACHED.fullmatch(word)
        if match is None:
            return None
        return _first(self._values(self._with_name(match[1], parsed), match[2], is_named=True))

    def _named(self, word: str, following: str | None, parsed: ParsedWords) -> tuple[str, Any, int] | None:
        """A choice (`same`), a name and its value (`layers 2`), or a flag (`bidirectional`, `nobias`)."""
        free = [each for each in self._parameters if each.name not in parsed.values]
        for each in free:
            if (choice := _choice(each, word)) is not None:
                return each.name, choice, 1
        named = list(self._with_name(word, parsed))
        if following is not None and (found := _first(self._values(named, following, is_named=True))) is not None:
            return found[0], found[1], 2
        for prefix, value in (("", True), ("no-", False), ("no", False)):
            if word.startswith(prefix):
                flags = (each for each in self._with_name(word.removeprefix(prefix), parsed) if each.kind == "bool")
                if (flag := next(flags, None)) is not None and len(word) > len(prefix) + 2:
                    return flag.name, value, 1
        return None

    def _values(
        self, parameters: Iterator[Parameter] | Sequence[Parameter], text: str, *, is_named: bool = False
    ) -> Iterator[tuple[str, Any]]:
        """The value of a text for each of these parameters that accepts it."""
        for each in parameters:
            value = _value(each, text, is_named=is_named)
            if value is not None and each.problem(value) is None:
                yield each.name, value

    def _with_name(self, text: str, parsed: ParsedWords) -> Iterator[Parameter]:
        """Parameters that a name or a sign can mean: in full, its start, the start of a word in it, or its initials."""
        text = _SIGNS.get(text, text)
        free = [each for each in self._parameters if each.name not in parsed.values]
        ranked = [(rank, each) for each in free if (rank := _name_rank(each.name.lower(), text)) is not None]
        ranked.sort(key=lambda pair: (pair[0], _is_inferred(pair[1]), not pair[1].required))
        return (each for _, each in ranked)


def _is_inferred(parameter: Parameter) -> bool:
    return parameter.from_input is not None or parameter.from_training


def _name_rank(name: str, text: str) -> int | None:
    words = name.split("_")
    if name == text or name.replace("_", "") == text:
        return 0
    if name.startswith(text):
        return 1
    if len(words) > 1 and "".join(word[:1] for word in words) == text:
        return 2
    return 3 if any(word.startswith(text) for word in words[1:]) else None


def _choice(parameter: Parameter, word: str) -> Any:
    """The choice that a word names in full; None for no choice."""
    if parameter.kind == "bool":
        return None
    named = (choice for choice in parameter.choices if isinstance(choice, str) and choice.lower() == word)
    return next(named, None) if word not in _BOOLS else None


def _value(parameter: Parameter, text: str, *, is_named: bool) -> Any:
    """The value of a text; None if it has the wrong form."""
    if (choice := _choice(parameter, text)) is not None:
        return choice
    match parameter.kind:
        case "bool":
            return _BOOLS.get(text) if is_named else None
        case "int":
            return _number(text, int)
        case "float":
            return _number(text, float)
        case "ints" | "floats":
            numbers = [_number(part, int if parameter.kind == "ints" else float) for part in re.split("[x,]", text)]
            if any(number is None for number in numbers):
                return None
            return numbers if len(numbers) > 1 or not parameter.single else numbers[0]
        case "choice":
            return next((choice for choice in parameter.choices if str(choice).lower() == text), None)
        case "str" | "path":
            return text if is_named else None


def _number(text: str, kind: type[int] | type[float]) -> int | float | None:
    try:
        return kind(text)
    except ValueError:
        return None


def _first(values: Iterator[tuple[str, Any]]) -> tuple[str, Any, int] | None:
    found = next(values, None)
    return None if found is None else (*found, 1)
