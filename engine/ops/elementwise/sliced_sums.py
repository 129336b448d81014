"""In-place sums of large arrays, computed in cache-sized slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_SLICE = 1 << 15
"""Elements per slice: an operand, the term and the result fit in a core's cache."""
LARGE = 4 * _SLICE
"""Arrays of at least this many elements are summed in slices."""


def add_term(xp: Any, x: Any, term: Callable[..., Any], operands: tuple[Any, ...], out: Any) -> Any:
    """x + term(operands). Large arrays are written to `out` in slices, so that the term stays in cache."""
    if out is None or out.size < LARGE or not out.flags.c_contiguous:
        return xp.add(x, term(*operands), out=out)
    if not all(_alike(operand, out) for operand in (x, *operands)):
        return xp.add(x, term(*operands), out=out)
    flat = [array.reshape(-1) if hasattr(array, "dtype") else array for array in (out, x, *operands)]
    for start in range(0, out.size, _SLICE):
        here = slice(start, start + _SLICE)
        to, x, *rest = [array[here] if hasattr(array, "dtype") else array for array in flat]
        xp.add(x, term(*rest), out=to)
    return out


def _alike(operand: Any, out: Any) -> bool:
    """Whether writing a slice of `out` leaves later slices of `operand` intact. True for scalars."""
    if operand is out or not hasattr(operand, "dtype"):
        return True
    same = operand.shape == out.shape and operand.flags.c_contiguous
    return same and not np.may_share_memory(operand, out)
