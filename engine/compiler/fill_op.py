"""The op for a new tensor that is filled with one value, in traces."""

from __future__ import annotations

from typing import Any

from engine.dtypes import from_numpy
from engine.ops.record import Op
from engine.shape import Spec


def _kernel_fill(xp: Any, shape: tuple[int, ...], dtype: object, value: object) -> Any:
    """An array filled with one value."""
    return xp.full(shape, value, dtype)


_kernel_fill.__name__ = "fill"
FILL = Op(_kernel_fill, "other", method=False)
FILL.shape(lambda shape, dtype, value: Spec(tuple(shape), from_numpy(dtype)))

__all__ = ["FILL"]
