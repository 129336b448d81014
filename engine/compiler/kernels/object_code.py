"""Machine code as a function. LLVM links it; numba, whose import takes a quarter of a second, is not needed."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

ENTRY = "gradwire_kernel"
"""What the code calls the function that Python is to call."""


class ObjectCode(NamedTuple):
    """Machine code in the system's object format."""

    code: bytes
    needs: tuple[str, ...]
    """Functions that it calls and does not have."""


class _Method(ctypes.Structure):
    """CPython's `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FASTCALL = 0x80
"""`METH_FASTCALL`: arguments come as a C array."""
_kept: list[Any] = []
"""Code and descriptions of functions, which live as long as the process."""


def load_function(code: ObjectCode) -> Callable[..., None]:
    """The function. Raises ImportError where something that it calls is not there."""
    llvm = importlib.import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)  # which also looks at what the process has
    for name in code.needs:  # LLVM ends the process where one is missing
        if llvm.address_of_symbol(name) is None:
            raise ImportError(f"nothing here is called {name}")
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.code))
    engine.finalize_object()
    method = _Method(b"kernel", engine.get_function_address(ENTRY), _FASTCALL, None)
    _kept.append((engine, method))
    return _new(ctypes.byref(method), None, None)


_new: Any = ctypes.pythonapi.PyCFunction_NewEx
_new.argtypes, _new.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p), ctypes.py_object

__all__ = ["ENTRY", "ObjectCode", "load_function"]
