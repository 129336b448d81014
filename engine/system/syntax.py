"""Parsing of source, and of tracebacks, that is safe in threads.

Python 3.11 counts the depth of a syntax tree for all threads together, and raises SystemError when two
threads parse at once (gh-106905). These functions try again. Formatting a traceback parses source lines, too.
"""

from __future__ import annotations

import ast
import traceback
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_ATTEMPTS = 20


def parse_source(source: str) -> ast.Module:
    """Return the syntax tree of a source. Raises SyntaxError."""
    return _retry(lambda: ast.parse(source))


def format_traceback(error: BaseException) -> str:
    """Return an exception formatted with its traceback."""
    return _retry(lambda: "".join(traceback.format_exception(error)))


def _retry(read: Callable[[], T]) -> T:
    for _ in range(_ATTEMPTS):
        try:
            return read()
        except SystemError:
            continue
    return read()


__all__ = ["format_traceback", "parse_source"]
