"""Parameter values: plain JSON within bounds, copied so that callers cannot change them."""

from __future__ import annotations

import json
import math
from typing import Any, cast

from studio.document.model import Json

MAX_DEPTH = 32
MAX_SIZE = 100_000
"""Maximum number of values and characters of a parameter; documents contain settings, not data."""

_INTEGERS = range(-(2**63), 2**64)


class JsonError(Exception):
    """Invalid JSON. Callers add the name of the file or edit.

    Args:
        location: an access path such as "nodes.hidden.at[0]", or a line and column; empty for the whole text
        problem: the rest of a sentence that begins with the location: "must be a list, not 3"
        remedy: the next step, as a sentence; may be empty
    """

    def __init__(self, location: str, problem: str, remedy: str = "") -> None:
        self.location = location
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{location}: {problem}" if location else problem)


def validated_copy(value: object) -> Json:
    """A copy of `value` with tuples as lists. Raises JsonError unless it is JSON within the bounds."""
    return _Validator().value(value, "", 0)


def equal_json(a: Json, b: Json) -> bool:
    """Equality that distinguishes 1, 1.0 and true."""
    return a is b or json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def text_problem(text: str) -> str | None:
    """Why `text` cannot be stored as UTF-8; else None."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"contains half a surrogate pair (U+{ord(text[error.start]):04X}) at character {error.start + 1}"
    return None


def format_json(value: object) -> str:
    """A value as text for an error message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"


class _Validator:
    """One traversal of a value that counts its values and characters."""

    def __init__(self) -> None:
        self.size = 0

    def value(self, value: object, location: str, depth: int) -> Json:
        self._count(1)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value, location)
        if isinstance(value, int):
            if value not in _INTEGERS:
                raise JsonError(location, "must be a whole number of at most 64 bits")
            return int(value)
        if isinstance(value, float):
            if not math.isfinite(value):
                raise JsonError(location, f"must be a finite number, not {value}")
            return float(value)
        if isinstance(value, (list, tuple, dict)) and depth >= MAX_DEPTH:
            raise JsonError("", f"is nested more than {MAX_DEPTH} levels deep")
        if isinstance(value, (list, tuple)):
            items = cast("list[object]", value)
            return [self.value(item, f"{location}[{index}]", depth + 1) for index, item in enumerate(items)]
        if isinstance(value, dict):
            return self._object(cast("dict[object, object]", value), location, depth)
        raise JsonError(location, f"must be a JSON value, not {type(value).__name__}")

    def _object(self, value: dict[object, object], location: str, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise JsonError(location, f"has the key {key!r}, but keys must be text")
            result[self._text(key, location)] = self.value(item, f"{location}.{key}", depth + 1)
        return result

    def _text(self, text: str, location: str) -> str:
        self._count(len(text))
        if (problem := text_problem(text)) is not None:
            raise JsonError(location, problem)
        return str(text)

    def _count(self, amount: int) -> None:
        self.size += amount
        if self.size > MAX_SIZE:
            raise JsonError("", f"contains more than {MAX_SIZE:,} values and characters")
