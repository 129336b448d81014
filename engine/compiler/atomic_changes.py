"""Changes that are made all at once, wherever Ctrl+C or another exception from outside strikes.

Python handles signals, and raises what other threads send, between instructions of its own. So changes are listed
first, as functions with their arguments, and then made by one call of C, which calls functions of C alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import starmap
from operator import call, setitem
from typing import Any, TypeAlias

Change: TypeAlias = tuple[Any, ...]
"""A function of C, such as `setattr`, and what it is called with."""
CommitChanges: TypeAlias = Callable[[list[Any]], list[Change]]
"""Tells what is to be changed, given the arrays that a run has computed, together with the memory that it writes to."""


def apply_changes(changes: Iterable[Change]) -> None:
    """Makes all changes, in their order."""
    deque(starmap(call, changes), 0)


def no_changes(values: list[Any]) -> list[Change]:
    """For a run that changes nothing but the memory that it writes to."""
    return []


def write_change(array: Any, values: Any) -> Change:
    """Writes `values` to the memory of an array."""
    return setitem, array, ..., values


__all__ = ["Change", "CommitChanges", "apply_changes", "no_changes", "write_change"]
