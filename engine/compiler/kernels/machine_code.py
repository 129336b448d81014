"""Compiles kernels to object code that `object_code` loads without numba. Imports numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from engine.compiler.kernels.numba_internals import UnlinkedFunction, compile_function, global_compiler_lock
from engine.compiler.kernels.object_code import ENTRY, ObjectCode

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_OBJECT = _BYTE.as_pointer()

_UNBOXED = {
    types.int64: ("PyLong_AsLongLong", _WORD),
    types.uint64: ("PyLong_AsUnsignedLongLong", _WORD),
    types.float64: ("PyFloat_AsDouble", ir.DoubleType()),
}
"""C function that converts a Python number, by argument type."""


def machine_code(signature: str) -> Callable[[Callable[..., None]], ObjectCode]:
    """Compiles the decorated function of integers and floats, for a signature such as "void(int64, float64)"."""

    def decorate(function: Callable[..., None]) -> ObjectCode:
        with global_compiler_lock:
            compiled = compile_function(function, signature)
            return ObjectCode(*compiled.object_code(_entry(compiled)))

    return decorate


def _entry(compiled: UnlinkedFunction) -> Any:
    """A module with a `METH_FASTCALL` function that converts the arguments and releases the GIL during the call."""
    module = compiled.new_module("entry")
    kind = ir.FunctionType(_OBJECT, [_OBJECT, _OBJECT.as_pointer(), _WORD])
    function = ir.Function(module, kind, ENTRY)
    builder = ir.IRBuilder(function.append_basic_block())
    failed = function.append_basic_block("failed")
    ir.IRBuilder(failed).ret(_OBJECT(None))

    def call_python(name: str, result: Any, *given: Any) -> Any:
        declared = module.globals.get(name) or ir.Function(
            module, ir.FunctionType(result, [x.type for x in given]), name
        )
        return builder.call(declared, given)

    def continue_if(condition: Any) -> None:
        block = function.append_basic_block()
        builder.cbranch(condition, block, failed)
        builder.position_at_end(block)

    _, given, count = function.args
    arguments = compiled.argument_types
    continue_if(builder.icmp_signed("==", count, _WORD(len(arguments))))
    values = []
    for index, one in enumerate(arguments):
        name, unboxed = _UNBOXED[one]
        values.append(call_python(name, unboxed, builder.load(builder.gep(given, [_WORD(index)]))))
    continue_if(builder.icmp_unsigned("==", call_python("PyErr_Occurred", _OBJECT), _OBJECT(None)))
    thread = call_python("PyEval_SaveThread", _OBJECT)
    succeeded = compiled.call(builder, values)
    call_python("PyEval_RestoreThread", ir.VoidType(), thread)
    continue_if(succeeded)
    none = module.globals.get("_Py_NoneStruct") or ir.GlobalVariable(module, _BYTE, "_Py_NoneStruct")
    call_python("Py_IncRef", ir.VoidType(), none)
    builder.ret(none)
    return module


__all__ = ["machine_code"]
