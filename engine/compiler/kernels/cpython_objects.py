"""CPython's memory layout, as far as compiled kernels depend on it.

Kernels get arrays as the integers that `id` returns, which are addresses of array objects, and read the address of the
elements from there. Loaded machine code becomes a built-in function by a `PyMethodDef`. All uses of either are in this
file; where the layout differs, NumPy computes what kernels would.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.system.self_test import SelfTest

ARRAY_DATA_OFFSET = object.__basicsize__
"""Bytes from the start of an array object to the address of its elements, which follows the object header."""
_FASTCALL = 0x80
"""`METH_FASTCALL`: the function gets its arguments as a C array."""


class _MethodDef(ctypes.Structure):
    """`PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_definitions: list[_MethodDef] = []
"""Kept as long as the process, since built-in functions refer to them."""


def builtin_function(address: int) -> Callable[..., Any]:
    """The function of machine code at an address, with the signature of `METH_FASTCALL`."""
    create: Any = ctypes.pythonapi.PyCFunction_NewEx
    create.argtypes, create.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p), ctypes.py_object
    definition = _MethodDef(b"kernel", address, _FASTCALL, None)
    _definitions.append(definition)
    return create(ctypes.byref(definition), None, None)


def array_data(identity: int) -> int | None:
    """The address of the elements of the array with this id."""
    return ctypes.c_void_p.from_address(identity + ARRAY_DATA_OFFSET).value


def _check() -> None:
    """Raises RuntimeError unless arrays and built-in functions are laid out as expected."""
    if sys.implementation.name != "cpython":
        raise RuntimeError(f"Python is {sys.implementation.name}, not CPython")
    array = np.arange(4.0)[1:]
    if array_data(id(array)) != array.ctypes.data:
        raise RuntimeError("array objects have another layout")
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_ssize_t)
    echo = kind(lambda _, arguments, count: (arguments[0], arguments[1], count))
    function = builtin_function(ctypes.cast(echo, ctypes.c_void_p).value or 0)
    if function(array, None) != (id(array), id(None), 2):
        raise RuntimeError("built-in functions are called in another way")


SELF_TEST = SelfTest(
    _check,
    f"Compiled kernels on {sys.implementation.name} {sys.version.partition(' ')[0]}",
    "NumPy computes the same results, more slowly. Use a Python version that Gradwire was tested with.",
)

__all__ = ["ARRAY_DATA_OFFSET", "SELF_TEST", "array_data", "builtin_function"]
