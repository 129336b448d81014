"""Reference counts of CPython, which decide whether the memory of an array can be reused.

A view refers to its base array, and so do exports by the buffer protocol and DLPack. So an array with a single
reference is visible only to the holder of that reference.

All uses of reference counts are in this file. Where CPython counts differently, no memory is reused: results are the
same, with more copies and allocations.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any
from weakref import getweakrefcount, ref

import numpy as np

from engine.system.self_test import SelfTest

_SOLE = 2
"""The count of an object with one reference: `getrefcount` holds another one while it counts."""


def owns_gradient(entry: list[Any]) -> bool:
    """Whether `entry` has the only reference to the tensor `entry[1]`, which has the only one to its array."""
    return getrefcount(entry[1]) == _SOLE and getrefcount(entry[1]._array) == _SOLE and SELF_TEST.passed


def sole_references(objects: list[Any]) -> list[bool]:
    """For each object whether the list has the only reference to it, weak references included."""
    if not SELF_TEST.passed:
        return [False] * len(objects)
    counts = list(map(getrefcount, objects))
    return [count == _SOLE and not getweakrefcount(one) for count, one in zip(counts, objects, strict=True)]


class _ArrayHolder:
    """Refers to an array, as a tensor does."""

    def __init__(self) -> None:
        self._array: Any = np.empty(2)


def _check() -> None:
    """Raises RuntimeError unless counts tell objects with one reference from those with more."""
    entry = [None, _ArrayHolder()]
    if not (owns_gradient(entry) and sole_references([np.empty(2)]) == [True]):
        raise RuntimeError("an object with one reference is counted as if it had more")
    arrays = [np.empty(2) for _ in range(4)]
    references = [arrays[0], arrays[1][:1], arrays[2].data, ref(arrays[3])]
    if any(sole_references(arrays)):
        raise RuntimeError("an object with several references is counted as if it had one")
    holders = [_ArrayHolder(), _ArrayHolder()]
    references += [holders[0], holders[1]._array]
    entries = [[None, holders.pop()], [None, holders.pop()]]
    if any(map(owns_gradient, entries)) or len(references) != 6:
        raise RuntimeError("a gradient with several references is counted as if it had one")


SELF_TEST = SelfTest(_check, "Reference counts", "Memory of gradients and results is not reused; results are the same.")

__all__ = ["SELF_TEST", "owns_gradient", "sole_references"]
