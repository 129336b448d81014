"""`load` and `save` under PyTorch's path, and PyTorch's list of classes that files may contain.

Files contain tensors, numbers, strings, lists and dicts, and no classes, so the list has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from engine.io import load, save

_globals: list[Any] = []


class SourceChangeWarning(Warning):
    """PyTorch's warning about changed classes. The engine does not emit it."""


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """Add classes to the list of `get_safe_globals`."""
    _globals.extend(one for one in safe_globals if one not in _globals)


def get_safe_globals() -> list[Any]:
    """Return the classes passed to `add_safe_globals`."""
    return list(_globals)


def clear_safe_globals() -> None:
    """Clear the list of `get_safe_globals`."""
    _globals.clear()


@contextmanager
def safe_globals(safe_globals: Sequence[Any]) -> Iterator[None]:
    """Add classes to the list of `get_safe_globals` temporarily."""
    old_globals = get_safe_globals()
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _globals[:] = old_globals


__all__ = [
    "SourceChangeWarning",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]
