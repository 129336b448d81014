"""Changes that are applied together, even if Ctrl+C or an exception of another thread arrives meanwhile.

CPython handles signals and asynchronous exceptions between bytecode instructions. So changes are first collected as C
functions with arguments, and then applied by a single call of a C function.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import starmap
from operator import call, setitem
from typing import Any, TypeAlias

Change: TypeAlias = tuple[Any, ...]
"""A C function such as `setattr`, followed by its arguments."""
CommitChanges: TypeAlias = Callable[[list[Any]], list[Change]]
"""Returns further changes for the computed arrays, to be applied together with writes to inputs."""


def apply_changes(changes: Iterable[Change]) -> None:
    """Applies changes in order."""
    deque(starmap(call, changes), 0)


def no_changes(values: list[Any]) -> list[Change]:
    """No further changes."""
    return []


def write_change(array: Any, values: Any) -> Change:
    """The change that writes `values` to an array."""
    return setitem, array, ..., values


__all__ = ["Change", "CommitChanges", "apply_changes", "no_changes", "write_change"]
