"""Memory of arrays that were handed out, for those that take their place."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.compiler.atomic_changes import Change
from engine.tensors.deferred import Form


class OutputBufferPool:
    """Arrays by places, as they were handed out. Each becomes memory again once nobody has it, or a view of it.

    There are two for each place: the one that was handed out last stays as it is until another takes its place, so that
    whoever computes that one may fail.

    Whoever looks at an array's memory holds a reference to the array itself: a view as its base, and NumPy's and
    DLPack's exports as well. So an array with no other reference than the one here cannot be seen by anybody.

    Args:
        forms: what the array at each place looks like
    """

    def __init__(self, forms: Mapping[int, Form]) -> None:
        self._forms = forms
        self._handed: dict[int, Any] = {}
        self._replaced: dict[int, Any] = {}
        self._free: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return bool(self._forms)

    def free(self) -> dict[int, Any]:
        """Memory of replaced arrays that have no other reference."""
        found, self._free = self._free, {}
        return found

    def handing_out(self, arrays: Sequence[Any]) -> list[Change]:
        """Notes what is handed out, by places."""
        return [
            (setattr, self, "_replaced", self._handed),
            (setattr, self, "_handed", {index: arrays[index] for index in self._forms}),
        ]

    def take_back(self) -> None:
        """Keeps a replaced array if it has no other reference; forgets it otherwise."""
        replaced, self._replaced = self._replaced, {}
        indices = list(replaced)
        arrays = [replaced.pop(index, None) for index in indices]  # another thread may be here as well
        counts = _references(arrays)
        self._free = {
            index: array
            for index, array, count in zip(indices, arrays, counts, strict=True)
            if count == _ALONE and not weakref.getweakrefcount(array) and self._is_as_it_was(index, array)
        }

    def _is_as_it_was(self, index: int, array: Any) -> bool:
        """Whether nobody has changed the array object itself, whose shape and flags may be set."""
        form = self._forms[index]
        same = array.shape == form.shape and array.strides == form.strides and array.dtype == form.dtype
        return same and array.flags.writeable


def _references(things: list[Any]) -> list[int]:
    """How often each is referred to, the list and this function included."""
    return list(map(sys.getrefcount, things))


(_ALONE,) = _references([np.empty(0)])

__all__ = ["OutputBufferPool"]
