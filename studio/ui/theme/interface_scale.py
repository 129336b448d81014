"""The scale of the whole window. Qt reads it when the application is created."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE = "QT_SCALE_FACTOR"
_applied = 100


def applied() -> int:
    """The scale of this process, in percent."""
    return _applied


@contextmanager
def environment(percent: int) -> Iterator[None]:
    """Scale an application that is created inside, on top of a factor that the user's environment sets.

    The environment is restored, so that a restarted process is not scaled twice.
    """
    global _applied
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = f"{_factor(before) * percent / 100:g}"
    _applied = percent
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before


def _factor(text: str | None) -> float:
    """The factor in the user's environment; 1 if it is missing or no positive number."""
    try:
        factor = float(text or 1)
    except ValueError:
        return 1.0
    return factor if 0.1 <= factor <= 10 else 1.0
