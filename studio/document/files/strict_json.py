"""A strict JSON parser that rejects duplicate keys, NaN, overflowing numbers such as 1e999, and deep nesting."""

from __future__ import annotations

import codecs
import json
import math
from dataclasses import dataclass
from typing import Any, cast

from studio.document.files.json_values import MAX_DEPTH, JsonError, text_problem

MAX_FILE_BYTES = 32 * 2**20
"""Maximum file size in bytes; a project of 2,000 nodes has half a million."""

_MAX_DEPTH = MAX_DEPTH + 8
"""Parameters lie below nodes, node and params. Their bound is checked later, with a better message."""


def decode(data: bytes) -> str:
    """Parse UTF-8 with or without a byte-order mark. Raises JsonError with line and column."""
    if len(data) > MAX_FILE_BYTES:
        raise JsonError("", f"has more than {MAX_FILE_BYTES:,} bytes", "Choose a project file.")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise JsonError("", "is UTF-16, not UTF-8", "Convert it to UTF-8.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        problem = f"contains byte 0x{data[error.start]:02X}, which is not UTF-8"
        raise JsonError(f"line {line}, column {column}", problem, "Convert the file to UTF-8.") from None


def parse(text: str) -> Any:
    """Parse JSON text. Raises JsonError with line and column, or with an access path."""
    if len(text) > MAX_FILE_BYTES:
        raise JsonError("", f"has more than {MAX_FILE_BYTES:,} characters", "Use a smaller project.")
    text = text.removeprefix("\N{BYTE ORDER MARK}")
    if not text.strip():
        raise JsonError("", "is empty")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_InvalidNumber,
            parse_float=_float,
            parse_int=_int,
        )
    except json.JSONDecodeError as error:
        raise _syntax_error(text, error) from None
    except RecursionError:
        raise JsonError("", _TOO_DEEP) from None
    _check(value, "", 0)
    return value


def child_path(location: str, key: str) -> str:
    """The access path of a field of the value at `location`."""
    if not key.isidentifier() or len(key) > 100:
        return f"{location}[{json.dumps(key[:100])}]"
    return f"{location}.{key}" if location else key


# -- The parser marks invalid values; they are reported afterwards, when their access path is known.


@dataclass(frozen=True, slots=True)
class _InvalidNumber:
    """A number that cannot be stored."""

    text: str


class _DuplicateKeys(dict[str, Any]):
    """An object with the duplicate key `key`."""

    key: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        repeated = _DuplicateKeys(result)
        repeated.key = next(key for key, _ in pairs if key in seen or seen.add(key))
        return repeated
    return result


def _float(text: str) -> float | _InvalidNumber:
    value = float(text)
    return value if math.isfinite(value) else _InvalidNumber(text)


def _int(text: str) -> int | _InvalidNumber:
    # 64 bits have at most 20 digits; converting much longer ones takes quadratic time.
    value = int(text) if len(text) <= 20 else 2**64
    return value if -(2**63) <= value < 2**64 else _InvalidNumber(text)


def _check(value: object, location: str, depth: int) -> None:
    if isinstance(value, _InvalidNumber):
        shown = value.text if len(value.text) <= 30 else f"{value.text[:30]}…"
        raise JsonError(location, f"must be a finite number of at most 64 bits, not {shown}")
    if isinstance(value, str):
        _check_text(value, location)
    elif isinstance(value, (list, dict)) and depth >= _MAX_DEPTH:
        raise JsonError("", _TOO_DEEP)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            _check(item, f"{location}[{index}]", depth + 1)
    elif isinstance(value, dict):
        if isinstance(value, _DuplicateKeys):
            raise JsonError(child_path(location, value.key), "occurs twice", "Rename or remove one of the two.")
        for key, item in cast("dict[str, object]", value).items():
            _check_text(key, location)
            _check(item, child_path(location, key), depth + 1)


def _check_text(text: str, location: str) -> None:
    if not text.isascii() and (problem := text_problem(text)) is not None:
        raise JsonError(location, problem)


# -- errors -----------------------------------------------------------------------------------

_TOO_DEEP = f"is nested more than {_MAX_DEPTH} levels deep"


def _syntax_error(text: str, error: json.JSONDecodeError) -> JsonError:
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("<<<<<<< "):
            remedy = "Resolve the conflicts and delete the conflict markers."
            return JsonError(f"line {number}", "contains merge conflict markers", remedy)
    location = f"line {error.lineno}, column {error.colno}"
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return JsonError(location, "is the end of the text, but the JSON is incomplete")
    return JsonError(location, f"is not JSON ({error.msg[:1].lower()}{error.msg[1:]})")
