"""Variants of an op's sample calls: other dtypes, sizes, memory layouts and special values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

import engine
from tests.engine.ops.reference import map_nested
from tests.engine.ops.sampler import Call

HALVES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
WHOLE = {
    "bool": np.bool_, "uint8": np.uint8, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
}  # fmt: skip


def change_floats(function: Callable[[Any], Any], call: Call) -> Call:
    """The call with `change` applied to its floating-point arrays."""

    def change(value: Any) -> Any:
        return function(value) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value

    return map_nested(change, call[0]), map_nested(change, call[1])


def change_arrays(function: Callable[[Any], Any], call: Call) -> Call:
    """The call with `change` applied to all its arrays."""

    def change(value: Any) -> Any:
        return function(value) if isinstance(value, np.ndarray) else value

    return map_nested(change, call[0]), map_nested(change, call[1])


def with_dtype(call: Call, dtype: Any) -> Call:
    """Floating-point arrays in another dtype; for integers they are scaled, so that elements stay different."""
    if dtype is np.bool_:
        return change_floats(lambda a: np.asarray(a > 0), call)
    if np.dtype(dtype).kind in "iu":
        spread = np.abs if np.dtype(dtype).kind == "u" else np.positive
        return change_floats(lambda a: np.asarray(np.round(spread(np.nan_to_num(a)) * 10)).astype(dtype), call)
    return change_floats(lambda a: a.astype(dtype), call)


def _first(a: Any, at: Any) -> Any:
    """Only the first element; indices become 0, so that they stay valid."""
    return np.asarray(a[(at,) * a.ndim + (...,)] * a.dtype.type(a.dtype.kind != "i"))


SIZES: dict[str, Callable[[Any], Any]] = {
    "no rows": lambda a: a[:0] if a.ndim else a,
    "no columns": lambda a: a[..., :0] if a.ndim else a,
    "ones": lambda a: _first(a, slice(0, 1)),
    "no dimensions": lambda a: _first(a, 0) if a.size else a,
}


def special(a: Any) -> Any:
    """Arrays with NaN, infinities, zeros of both signs and very large numbers."""
    a = a.copy()
    values = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e30, -1e30, 1e-30])
    flat = a.reshape(-1)
    flat[: len(values)] = values[: len(flat)]
    return flat.reshape(a.shape)


MEMORY: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda a: engine.tensor(np.array(a.T, order="C")).permute(tuple(reversed(range(a.ndim)))),
    "every second": lambda a: engine.tensor(np.repeat(a, 2, -1))[..., ::2] if a.ndim else engine.tensor(a),
    "an offset": lambda a: engine.tensor(np.concatenate([a[:1], a]))[1:] if a.ndim else engine.tensor(a),
}
"""Tensors with the same values that are views."""
