"""The op for a new tensor of random numbers, in traces. Its state is reserved before the call, as that of dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dtypes import from_numpy
from engine.ops.record import Op
from engine.random.draws import DISTRIBUTIONS
from engine.random.philox import State
from engine.shape import Spec, count


def _kernel_random(
    xp: Any, shape: tuple[int, ...], dtype: object, distribution: str, first: float, second: float, state: State
) -> Any:
    """Random numbers at a state, drawn on the CPU, so that every device gets the same numbers."""
    drawn = DISTRIBUTIONS[distribution].draw(state, count(shape), from_numpy(dtype), first, second)
    with np.errstate(over="ignore"):
        return xp.asarray(drawn.reshape(shape)).astype(dtype, copy=False)


_kernel_random.__name__ = "random"
RANDOM = Op(_kernel_random, "other", method=False, random=True)
RANDOM.shape(lambda shape, dtype, distribution, first, second, state: Spec(tuple(shape), from_numpy(dtype)))

__all__ = ["RANDOM"]
