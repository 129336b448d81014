"""Memory of arrays: who owns it, its layout, and its peak size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.backend import namespace_of
from engine.tensors.deferred import Form


def memory_owner(array: Any) -> Any:
    """The array that owns the memory of `array`; `array` itself if it is not a view."""
    while (base := getattr(array, "base", None)) is not None:
        array = base
    return array


def copy_in_layout(array: Any, form: Form) -> Any:
    """A copy of `array` in new memory, with the axis order of `form`."""
    order = sorted(range(len(form.shape)), key=lambda axis: -form.strides[axis])
    made = namespace_of(array).empty([form.shape[axis] for axis in order], form.dtype)
    if order != sorted(order):  # an array in C order is returned as itself, not as a view
        made = made.transpose(sorted(range(len(order)), key=order.__getitem__))
    made[...] = array
    return made


def in_layout(array: Any, form: Form) -> Any:
    """`array` if it owns its memory and has the strides of `form`; else a copy that does."""
    return array if array.base is None and tuple(array.strides) == form.strides else copy_in_layout(array, form)


def peak_bytes(steps: Iterable[tuple[Mapping[Any, int], Iterable[Any]]]) -> int:
    """Peak bytes of steps, each given by the sizes of what it creates and what it frees afterwards."""
    live: dict[Any, int] = {}
    now = most = 0
    for created, freed in steps:
        live.update(created)
        now += sum(created.values())
        most = max(most, now)
        now -= sum(live.pop(one, 0) for one in freed)
    return most


__all__ = ["copy_in_layout", "in_layout", "memory_owner", "peak_bytes"]
