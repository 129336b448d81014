"""A stand-in for CuPy on machines without a GPU: its arrays are NumPy's inside, and as strict as CuPy's.

What CuPy refuses is refused here: NumPy arrays among the operands, conversion to NumPy behind one's back, and members
that its arrays do not have.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.engine import fake_cuda

MEMBERS = {
    "T", "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "base", "clip", "copy", "cumsum",
    "dot", "dtype", "fill", "flatten",
    "item", "itemsize", "max", "mean", "min", "nbytes", "ndim", "prod", "ravel", "repeat", "reshape", "round",
    "shape", "size", "sort", "squeeze", "std", "strides", "sum", "swapaxes", "take", "tolist", "transpose", "var",
    "view",
}  # fmt: skip
OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
    "eq", "ne", "lt", "le", "gt", "ge",
)  # fmt: skip


class ndarray:  # noqa: N801
    """CuPy's array."""

    __array_priority__ = 100

    def __init__(self, inside: np.ndarray[Any, Any]) -> None:
        self._inside = inside

    @property
    def flags(self) -> Any:
        result = self._inside.flags
        return types.SimpleNamespace(
            c_contiguous=result.c_contiguous, f_contiguous=result.f_contiguous, owndata=result.owndata
        )

    @property
    def data(self) -> Any:
        return types.SimpleNamespace(ptr=self._inside.ctypes.data)

    @property
    def device(self) -> Any:
        return types.SimpleNamespace(id=0)

    def __getattr__(self, name: str) -> Any:
        if name not in MEMBERS:
            raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}")
        result = getattr(self._inside, name)
        return _wrapped(result) if callable(result) else _out(result)

    def __getitem__(self, index: Any) -> Any:
        return _out(self._inside[_in(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._inside[_in(index)] = _in(value)

    def __len__(self) -> int:
        return len(self._inside)

    def __bool__(self) -> bool:
        return bool(self._inside)

    def __int__(self) -> int:
        return int(self._inside)

    def __float__(self) -> float:
        return float(self._inside)

    def __neg__(self) -> Any:
        return _out(-self._inside)

    def __invert__(self) -> Any:
        return _out(~self._inside)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _wrapped(function)(*args, **kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return _wrapped(getattr(ufunc, method))(*args, **kwargs)


def _add_operators() -> None:
    for name in OPERATORS:
        for dunder in (f"__{name}__", f"__r{name}__", f"__i{name}__"):
            if hasattr(np.ndarray, dunder):
                setattr(ndarray, dunder, _operator(dunder))


def _operator(dunder: str) -> Callable[[ndarray, Any], Any]:
    def operate(self: ndarray, other: Any) -> Any:
        result = getattr(self._inside, dunder)(_in(other))
        return self if result is self._inside else result if result is NotImplemented else _out(result)

    return operate


_add_operators()


def _in(value: Any) -> Any:
    if isinstance(value, ndarray):
        return value._inside
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, (tuple, list)):
        return type(value)(_in(item) for item in value)
    return {key: _in(item) for key, item in value.items()} if isinstance(value, dict) else value


def _out(value: Any) -> Any:
    # CuPy has no scalars: what NumPy makes one of is an array without dimensions.
    if isinstance(value, (np.ndarray, np.generic)):
        return ndarray(np.asarray(value))
    if isinstance(value, tuple):  # of linalg, with names
        return tuple(_out(item) for item in value)
    return [_out(item) for item in value] if type(value) is list else value


def _wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):  # a GPU does not warn
            return _out(function(*_in(args), **_in(kwargs)))

    return call


def _writeable(view: np.ndarray[Any, Any]) -> ndarray:
    """CuPy's views can be written to, where NumPy's are locked."""
    view.flags.writeable = True
    return ndarray(view)


class _Namespace(types.ModuleType):
    """A module whose functions are NumPy's, wrapped."""

    def __init__(self, name: str, source: Any) -> None:
        super().__init__(name)
        self._source = source

    def __getattr__(self, name: str) -> Any:
        result = getattr(self._source, name)
        if isinstance(result, np.ufunc):
            return _Ufunc(result)
        if isinstance(result, types.ModuleType):
            return _Namespace(f"{self.__name__}.{name}", result)
        return _wrapped(result) if callable(result) and not isinstance(result, type) else result


class _Ufunc:
    def __init__(self, inside: np.ufunc) -> None:
        self._inside = inside
        self.at = _wrapped(inside.at)
        self.reduce = _wrapped(inside.reduce)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _wrapped(self._inside)(*args, **kwargs)


def asarray(value: Any, dtype: Any = None, order: Any = None) -> ndarray:
    """Arrays of the device are used unchanged if they fit."""
    if isinstance(value, ndarray):
        result = np.asarray(value._inside, dtype, order=order)
        return value if result is value._inside else ndarray(result)
    return ndarray(np.array(value, dtype, order=order or "K"))


class Stream:
    """The only one."""

    ptr = 0

    def record(self) -> object:
        return object()

    def wait_event(self, event: object) -> None:
        pass


def module(devices: int = 1) -> types.ModuleType:
    """A module to put into `sys.modules` as "cupy"; `cuda.used` counts the uses of each device."""
    cupy = _Namespace("cupy", np)
    used: dict[int, int] = {}

    @contextlib.contextmanager
    def device(index: int) -> Iterator[None]:
        used[index] = used.get(index, 0) + 1
        yield

    cupy.ndarray = ndarray
    cupy.asnumpy = lambda array: array._inside.copy()
    cupy.asarray = asarray
    cupy.diagonal = lambda array, *args: _writeable(np.diagonal(array._inside, *args))
    cupy.RawModule = fake_cuda.RawModule
    cupy.cuda = types.SimpleNamespace(
        Device=device,
        runtime=types.SimpleNamespace(getDeviceCount=lambda: devices),
        used=used,
        get_current_stream=Stream,
    )
    return cupy
