"""Arrays of a run: whose memory they are in, how they are laid out, how much of it there is at one time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.backend import namespace_of
from engine.tensors.deferred import Form


def memory_owner(array: Any) -> Any:
    """Whose memory an array looks at; an array in memory of its own itself."""
    while (base := getattr(array, "base", None)) is not None:
        array = base
    return array


def copy_in_layout(array: Any, form: Form) -> Any:
    """`array` in memory that nobody else has, its elements in the order that `form` tells."""
    order = sorted(range(len(form.shape)), key=lambda axis: -form.strides[axis])
    made = namespace_of(array).empty([form.shape[axis] for axis in order], form.dtype)
    if order != sorted(order):  # what is in order is not to be a part of another array
        made = made.transpose(sorted(range(len(order)), key=order.__getitem__))
    made[...] = array
    return made


def in_layout(array: Any, form: Form) -> Any:
    """`array`, which nobody else has, if it is as was foretold; else a copy that is."""
    return array if array.base is None and tuple(array.strides) == form.strides else copy_in_layout(array, form)


def peak_bytes(steps: Iterable[tuple[Mapping[Any, int], Iterable[Any]]]) -> int:
    """Bytes that are held at one time at most, of steps that make some things and then let go of some."""
    held: dict[Any, int] = {}
    now = most = 0
    for made, done in steps:
        held.update(made)
        now += sum(made.values())
        most = max(most, now)
        now -= sum(held.pop(one, 0) for one in done)
    return most


__all__ = ["copy_in_layout", "in_layout", "memory_owner", "peak_bytes"]
