"""Object code as a Python function. LLVM links it; numba, whose import takes a quarter of a second, is not needed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from engine.compiler.kernels.cpython_objects import SELF_TEST, builtin_function

ENTRY = "gradwire_kernel"
"""Name of the function that Python calls."""


class ObjectCode(NamedTuple):
    """Machine code in the system's object format."""

    code: bytes
    needs: tuple[str, ...]
    """Names of the functions that it imports."""


_engines: list[Any] = []
"""Kept as long as the process, since they own the machine code."""


def load_function(code: ObjectCode) -> Callable[..., None]:
    """Loads a function.

    Raises:
        ImportError: the process lacks a function that the code imports
        RuntimeError: CPython lays out objects in an unknown way
    """
    SELF_TEST.require()
    llvm = importlib.import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)  # which also looks up names of the process
    for name in code.needs:  # LLVM ends the process where one is missing
        if llvm.address_of_symbol(name) is None:
            raise ImportError(f"the process has no function {name}")
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.code))
    engine.finalize_object()
    _engines.append(engine)
    return builtin_function(engine.get_function_address(ENTRY))


__all__ = ["ENTRY", "ObjectCode", "load_function"]
