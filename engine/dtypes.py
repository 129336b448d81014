"""Element types and PyTorch's promotion rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.errors import DTypeError


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """One element type, such as `engine.float32`. Compared by identity."""

    name: str
    numpy: np.dtype[Any]
    kind: int
    """0 bool, 1 whole numbers, 2 floating point: a higher kind wins a promotion."""

    @property
    def is_floating_point(self) -> bool:
        return self.kind == 2

    @property
    def itemsize(self) -> int:
        return self.numpy.itemsize

    def __repr__(self) -> str:
        return f"engine.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.name,)


bool_ = DType("bool", np.dtype(np.bool_), 0)
uint8 = DType("uint8", np.dtype(np.uint8), 1)
int8 = DType("int8", np.dtype(np.int8), 1)
int16 = DType("int16", np.dtype(np.int16), 1)
int32 = DType("int32", np.dtype(np.int32), 1)
int64 = DType("int64", np.dtype(np.int64), 1)
float16 = DType("float16", np.dtype(np.float16), 2)
float32 = DType("float32", np.dtype(np.float32), 2)
float64 = DType("float64", np.dtype(np.float64), 2)

ALL = (bool_, uint8, int8, int16, int32, int64, float16, float32, float64)
BY_NAME = {dtype.name: dtype for dtype in ALL}
_BY_NUMPY = {dtype.numpy: dtype for dtype in ALL}

_default = float32


def named(name: str) -> DType:
    """The DType called `name`."""
    return BY_NAME[name]


def from_numpy(dtype: Any) -> DType:
    """The DType of a NumPy or CuPy dtype. Raises DTypeError for one that the engine does not have."""
    try:
        return _BY_NUMPY[dtype]
    except KeyError:
        native = np.dtype(dtype).newbyteorder("=")
        if native in _BY_NUMPY:
            return _BY_NUMPY[native]
        known = ", ".join(BY_NAME)
        raise DTypeError(f"NumPy dtype {np.dtype(dtype)} has no tensor type. Convert it to one of: {known}.") from None


def get_default_dtype() -> DType:
    return _default


def set_default_dtype(dtype: DType) -> None:
    global _default
    if not dtype.is_floating_point:
        raise DTypeError(f"the default dtype must be a floating-point type, not {dtype.name}")
    _default = dtype


def of_scalar(value: Any) -> DType:
    """The dtype that a Python number has when it becomes a tensor."""
    if isinstance(value, bool):
        return bool_
    return int64 if isinstance(value, int) else _default


def promote_types(a: DType, b: DType) -> DType:
    """PyTorch's promotion of two tensor dtypes."""
    if a is b:
        return a
    if a.kind != b.kind:
        return a if a.kind > b.kind else b
    return _BY_NUMPY[np.promote_types(a.numpy, b.numpy)]
