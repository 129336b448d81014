"""Reuses the memory of a function's earlier results for later ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.compiler.atomic_changes import Change
from engine.system.reference_counts import sole_references
from engine.tensors.deferred import Form


class OutputBufferPool:
    """Buffers for some outputs of a plan, by output index.

    An array becomes a buffer again after a later call has replaced it, if nothing refers to it or to a view of it. The
    latest result of each output stays untouched until then, so that a failing call leaves it as it is.

    Args:
        forms: shape, dtype and strides of each pooled output
    """

    def __init__(self, forms: Mapping[int, Form]) -> None:
        self._forms = forms
        self._current: dict[int, Any] = {}
        """Results of the latest call."""
        self._replaced: dict[int, Any] = {}
        """Results of the call before it."""
        self._free: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return bool(self._forms)

    def take_buffers(self) -> dict[int, Any]:
        """Returns the free buffers by output index, and removes them from the pool."""
        found, self._free = self._free, {}
        return found

    def register_outputs(self, arrays: Sequence[Any]) -> list[Change]:
        """Changes that make `arrays` the latest results."""
        return [
            (setattr, self, "_replaced", self._current),
            (setattr, self, "_current", {index: arrays[index] for index in self._forms}),
        ]

    def reclaim(self) -> None:
        """Frees the replaced arrays that have no other reference, and forgets the others."""
        replaced, self._replaced = self._replaced, {}
        indices = list(replaced)
        arrays = [replaced.pop(index, None) for index in indices]  # another thread may be here as well
        self._free = {
            index: array
            for index, array, is_sole in zip(indices, arrays, sole_references(arrays), strict=True)
            if is_sole and self._is_unchanged(index, array)
        }

    def _is_unchanged(self, index: int, array: Any) -> bool:
        """Whether shape, strides, dtype and flags of the array object were not set by a caller."""
        form = self._forms[index]
        same = array.shape == form.shape and array.strides == form.strides and array.dtype == form.dtype
        return same and array.flags.writeable


__all__ = ["OutputBufferPool"]
