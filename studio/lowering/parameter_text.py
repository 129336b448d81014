"""Parameter values as text in forms and `--set`, and back."""

from __future__ import annotations

import re
from typing import Any, cast

from engine.registry import LONGEST_VALUE, Parameter
from engine.relative_sizes import normalized
from studio.document.blocks.block_nodes import EACH, values_per_copy
from studio.document.model import Json

_INCOMPLETE = re.compile(r"[-+]?(\d*\.?\d*|\d+\.?\d*e[-+]?)", re.IGNORECASE)
"""Incomplete numbers: "-", "1e", "1e-"."""


_INCOMPLETE_SIZE = re.compile(r"(\d*\.?\d*\s*[*×x]?\s*)?(i|in|inp|inpu|input)?(\s*/\s*)?")
"""Incomplete relative sizes: "4 *", "4 * inp", "input /"."""

BOOLS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}

PER_COPY = "|"
"""Between the values of the copies of a repeated block."""


class InvalidTextError(ValueError):
    """Invalid text for a parameter. The message continues "NAME …"."""


def shown(value: object) -> str:
    """A value as the user types it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (tuple, list)):
        return ", ".join(map(shown, cast("list[object]", value)))
    if (each := values_per_copy(cast("Json", value))) is not None:
        return f" {PER_COPY} ".join(shown(item) for item in each)
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def read(parameter: Parameter, text: str, *, per_copy: bool = False) -> Any:
    """Parse a value. Raises InvalidTextError if it is invalid or out of bounds.

    Args:
        per_copy: accept one value for each copy of a repeated block, as in "16 | 32"
    """
    text = text.strip()
    if per_copy and PER_COPY in text:
        return {EACH: [read(parameter, part) for part in text.split(PER_COPY)]}
    if parameter.optional and text.lower() in ("none", "null"):
        return None
    word = text if parameter.relative_to is None else normalized(text)
    value = word if parameter.accepts_text(word) else _parse(parameter, text)
    if (problem := parameter.problem(value)) is not None:
        raise InvalidTextError(problem)
    return value


def is_incomplete(parameter: Parameter, text: str) -> bool:
    """Whether the text is an incomplete number or word, such as "-", "1e-" or "sa" of "same"."""
    if parameter.kind not in ("int", "ints", "float", "floats"):
        return False
    last = re.split(r"[,|]", text)[-1].strip(" ([")
    if last and any(isinstance(word, str) and word.startswith(last) for word in parameter.choices):
        return last not in parameter.choices
    if parameter.relative_to is not None and _INCOMPLETE_SIZE.fullmatch(last):
        return not last[-1:].isdigit()
    return _INCOMPLETE.fullmatch(last) is not None and not text.strip()[-1:].isdigit()


def _parse(parameter: Parameter, text: str) -> Any:
    match parameter.kind:
        case "ints" | "floats" as kind:
            parts = [part.strip() for part in text.strip("()[]").split(",") if part.strip()]
            try:
                items = [part if part in parameter.words else _number(kind.removesuffix("s"), part) for part in parts]
            except InvalidTextError:
                return text  # which `Parameter.problem` reports, with the words that are allowed
            return items if len(items) != 1 or not parameter.single else items[0]
        case "int" | "float" as kind:
            return _number(kind, text)
        case "bool":
            return BOOLS.get(text.lower(), text)
        case "choice":
            return next((choice for choice in parameter.choices if str(choice) == text), text)
        case "path" | "str":
            return text


def _number(kind: str, text: str) -> int | float:
    try:
        return _integer(text) if kind == "int" else float(text)
    except ValueError:
        raise InvalidTextError(
            f"must be a {'whole ' if kind == 'int' else ''}number, not {text[:LONGEST_VALUE]!r}"
        ) from None


def _integer(text: str) -> int:
    """Parse an integer; also accepts "1e3" and "100.0"."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not number.is_integer():
            raise
        return int(number)


def stepped(parameter: Parameter, value: float, steps: int) -> int | float:
    """The next value up or down: by 1, or by 1 in the first significant digit. Stops at the bounds."""
    if parameter.kind == "int":
        new: int | float = int(value) + steps
    else:
        new = _next_float(value, steps)
    return new if parameter.problem(new) is None else value


def _next_float(value: float, steps: int) -> float:
    if value == 0:
        return 0.1 * steps
    exponent = int(f"{abs(value):e}".partition("e")[2])
    mantissa = round(abs(value) / 10**exponent, 6)
    towards_zero = (steps < 0) == (value > 0)
    if towards_zero and mantissa <= 1:
        exponent -= 1
    return float(f"{value + steps * 10.0**exponent:.12g}")
