"""What Python itself reads source for, in whichever thread.

Python 3.11 counts the depth of a syntax tree for all threads together, and raises SystemError in one that parses while
another one does (gh-106905). Then it is tried again. Tracebacks parse lines of source, too, for the marks below them.
"""

from __future__ import annotations

import ast
import traceback
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_ATTEMPTS = 20


def parsed(source: str) -> ast.Module:
    """The tree of a source. Raises SyntaxError."""
    return _tried(lambda: ast.parse(source))


def account_of(error: BaseException) -> str:
    """What Python prints of an exception: where it came from, and what it says."""
    return _tried(lambda: "".join(traceback.format_exception(error)))


def _tried(read: Callable[[], T]) -> T:
    for _ in range(_ATTEMPTS):
        try:
            return read()
        except SystemError:
            continue
    return read()


__all__ = ["account_of", "parsed"]
