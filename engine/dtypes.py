"""Element types and PyTorch's promotion rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from engine.errors import DTypeError
from engine.modes import MODES


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """One element type, such as `engine.float32`. Compared by identity."""

    name: str
    numpy: np.dtype[Any]
    kind: int
    """0 bool, 1 integer, 2 floating point: promotion takes the higher kind."""
    title: str
    """Prefix of PyTorch's tensor type: "Float" of "FloatTensor"."""

    @property
    def is_floating_point(self) -> bool:
        return self.kind == 2

    @property
    def is_complex(self) -> bool:
        return False

    @property
    def is_signed(self) -> bool:
        return self.kind == 2 or self.numpy.kind == "i"

    @property
    def itemsize(self) -> int:
        return self.numpy.itemsize

    def to_real(self) -> DType:
        """Return this dtype: there are no complex dtypes."""
        return self

    def __repr__(self) -> str:
        return f"engine.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype_from_name, (self.name,)


bool_ = DType("bool", np.dtype(np.bool_), 0, "Bool")
uint8 = DType("uint8", np.dtype(np.uint8), 1, "Byte")
int8 = DType("int8", np.dtype(np.int8), 1, "Char")
int16 = DType("int16", np.dtype(np.int16), 1, "Short")
int32 = DType("int32", np.dtype(np.int32), 1, "Int")
int64 = DType("int64", np.dtype(np.int64), 1, "Long")
uint16 = DType("uint16", np.dtype(np.uint16), 1, "UInt16")
uint32 = DType("uint32", np.dtype(np.uint32), 1, "UInt32")
uint64 = DType("uint64", np.dtype(np.uint64), 1, "UInt64")
float16 = DType("float16", np.dtype(np.float16), 2, "Half")
bfloat16 = DType("bfloat16", np.dtype(ml_dtypes.bfloat16), 2, "BFloat16")
float32 = DType("float32", np.dtype(np.float32), 2, "Float")
float64 = DType("float64", np.dtype(np.float64), 2, "Double")

ALL = (bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, bfloat16, float32, float64)
BY_NAME = {dtype.name: dtype for dtype in ALL}
_BY_NUMPY = {dtype.numpy: dtype for dtype in ALL}
_WIDE_UNSIGNED = (uint16, uint32, uint64)
"""Dtypes that PyTorch does not promote with other integer dtypes."""

NATIVE_FLOATS = frozenset(dtype.numpy for dtype in (float16, float32, float64))
"""Array dtypes that kernels compute in directly. Arrays of one such dtype need no promotion."""
NATIVE_INTEGERS = frozenset(dtype.numpy for dtype in ALL if dtype.kind == 1)
NUMBERS = (bool, int, float)
"""Python's number types. Promotion takes a tensor's dtype over theirs."""
_BY_PYTHON: dict[type, DType] = {bool: bool_, int: int64, float: float64}

_default = float32


def dtype_from_name(name: str) -> DType:
    """Return the DType of a name."""
    return BY_NAME[name]


def as_dtype(function: str, dtype: Any) -> DType:
    """Return the dtype of an argument. Python's `bool`, `int` and `float` mean bool, int64 and float64.

    Raises TypeError for other values, such as "float32"; the message starts with the function's name.
    """
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, type) and dtype in _BY_PYTHON:
        return _BY_PYTHON[dtype]
    raise TypeError(f"{function}(): {dtype!r} is not a dtype. Use a dtype such as engine.float32.")


def as_optional_dtype(function: str, dtype: Any) -> DType | None:
    """Return `as_dtype(function, dtype)`, or None for None."""
    return dtype if dtype is None or isinstance(dtype, DType) else as_dtype(function, dtype)


def is_floating(numpy: Any) -> bool:
    """Return whether an array's dtype is floating-point, including bfloat16, which NumPy's `kind` does not cover."""
    return numpy.kind == "f" or numpy == bfloat16.numpy


def from_numpy(dtype: Any) -> DType:
    """Return the DType of a NumPy or CuPy dtype. Raises DTypeError for unsupported dtypes."""
    try:
        return _BY_NUMPY[dtype]
    except KeyError:
        native = np.dtype(dtype).newbyteorder("=")
        if native in _BY_NUMPY:
            return _BY_NUMPY[native]
        names = ", ".join(BY_NAME)
        raise DTypeError(f"NumPy dtype {np.dtype(dtype)} has no tensor type. Convert it to one of: {names}.") from None


def get_default_dtype() -> DType:
    return _default


def set_default_dtype(d: DType) -> None:
    global _default
    d = as_dtype("set_default_dtype", d)
    if not d.is_floating_point:
        raise DTypeError(f"the default dtype must be a floating-point type, not {d.name}")
    if MODES.capture is None or d is _default:
        _default = d
        return
    with MODES.capture.setting_change("set_default_dtype"):
        _default = d


def of_scalar(value: Any) -> DType:
    """Return the dtype of a tensor made from a Python number."""
    if isinstance(value, bool):
        return bool_
    return int64 if isinstance(value, int) else _default


def promote_types(type1: DType, type2: DType) -> DType:
    """Return the dtype that PyTorch promotes two tensor dtypes to."""
    if not (isinstance(type1, DType) and isinstance(type2, DType)):
        type1, type2 = as_dtype("promote_types", type1), as_dtype("promote_types", type2)
    if type1 is type2:
        return type1
    if type1.kind == 2 or type2.kind == 2:
        if type1.kind != type2.kind:
            return type1 if type1.kind == 2 else type2
        if type1.itemsize != type2.itemsize:
            return max(type1, type2, key=lambda dtype: dtype.itemsize)
        return float32  # for float16 and bfloat16
    if type1 in _WIDE_UNSIGNED or type2 in _WIDE_UNSIGNED:
        raise DTypeError(
            f"{type1.name} and {type2.name} have no common type: uint16, uint32 and uint64 do not mix with other "
            "integer dtypes. Convert one of the two."
        )
    if type1.kind != type2.kind:
        return type1 if type1.kind else type2
    return _BY_NUMPY[np.promote_types(type1.numpy, type2.numpy)]


def can_cast(from_: DType, to: DType) -> bool:
    """Return whether results of one dtype may be written to tensors of another: never to a lower kind."""
    return as_dtype("can_cast", from_).kind <= as_dtype("can_cast", to).kind


class finfo:
    """Limits of a floating-point dtype.

    Args:
        type: the dtype; without one, the default dtype
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: DType | None = None) -> None:
        type = as_dtype("finfo", type or _default)
        if type.kind != 2:
            raise TypeError(f"finfo() is for floating-point types, not {type.name}. Use iinfo().")
        found: Any = ml_dtypes.finfo(type.numpy)
        self.dtype, self.bits = type.name, found.bits
        self.min, self.max, self.eps = float(found.min), float(found.max), float(found.eps)
        self.tiny = self.smallest_normal = float(found.smallest_normal)
        self.resolution = float(f"1e-{found.precision}")

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.tiny:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer dtype."""

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: DType) -> None:
        type = as_dtype("iinfo", type)
        if type.kind != 1:
            raise TypeError(f"iinfo() is for integer types, not {type.name}. Use finfo() for floating point.")
        found = np.iinfo(type.numpy)
        self.dtype, self.bits, self.min, self.max = type.name, found.bits, int(found.min), int(found.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
