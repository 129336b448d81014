"""Machine code of a kernel, which `loading` makes a function of without numba. Imports numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba.core import compiler, sigutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from engine.compiler.kernels.object_code import ENTRY, ObjectCode

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_OBJECT = _BYTE.as_pointer()

_OPTIONS = {"nopython": True, "nogil": True, "boundscheck": False, "error_model": "numpy"}
_UNBOXED = {
    types.int64: ("PyLong_AsLongLong", _WORD),
    types.uint64: ("PyLong_AsUnsignedLongLong", _WORD),
    types.float64: ("PyFloat_AsDouble", ir.DoubleType()),
}
"""What makes a number of a Python object, by its type."""


def machine_code(signature: str) -> Callable[[Callable[..., None]], ObjectCode]:
    """Compiles a function of whole numbers and floats, such as "void(int64, float64)"."""

    def compiled(function: Callable[..., None]) -> ObjectCode:
        with global_compiler_lock:
            return _compiled(function, sigutils.normalize_signature(signature)[0])

    return compiled


def _compiled(function: Any, arguments: Any) -> ObjectCode:
    described: Any = cpu_target
    typing, target = described.typing_context, described.target_context
    typing.refresh()
    target.refresh()
    flags: Any = compiler.Flags()
    described.options.parse_as_flags(flags, _OPTIONS)
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
    found: Any = compiler.compile_extra(typing, target, function, arguments, types.void, flags, {})
    library = found.library
    library.add_ir_module(_entry(target, library.create_ir_module("entry"), found.fndesc))
    library.finalize()
    code, bitcode = library.serialize_using_object_code()[2]
    declared = [one.name for one in binding.parse_bitcode(bitcode).functions if one.is_declaration]
    return ObjectCode(code, tuple(name for name in declared if not name.startswith("llvm.")))


def _entry(target: Any, module: Any, described: Any) -> Any:
    """A function that Python calls with `METH_FASTCALL`: it unboxes numbers, and releases the interpreter's lock."""
    kind = ir.FunctionType(_OBJECT, [_OBJECT, _OBJECT.as_pointer(), _WORD])
    function = ir.Function(module, kind, ENTRY)
    builder = ir.IRBuilder(function.append_basic_block())
    failed = function.append_basic_block("failed")
    ir.IRBuilder(failed).ret(_OBJECT(None))

    def python(name: str, result: Any, *given: Any) -> Any:
        declared = module.globals.get(name) or ir.Function(
            module, ir.FunctionType(result, [x.type for x in given]), name
        )
        return builder.call(declared, given)

    def go_on_if(true: Any) -> None:
        on = function.append_basic_block()
        builder.cbranch(true, on, failed)
        builder.position_at_end(on)

    _, given, count = function.args
    arguments = described.argtypes
    go_on_if(builder.icmp_signed("==", count, _WORD(len(arguments))))
    values = []
    for index, one in enumerate(arguments):
        name, unboxed = _UNBOXED[one]
        values.append(python(name, unboxed, builder.load(builder.gep(given, [_WORD(index)]))))
    go_on_if(builder.icmp_unsigned("==", python("PyErr_Occurred", _OBJECT), _OBJECT(None)))
    thread = python("PyEval_SaveThread", _OBJECT)
    status, _ = target.call_conv.call_function(
        builder, target.declare_function(module, described), types.void, arguments, values, attrs=("noinline",)
    )
    python("PyEval_RestoreThread", ir.VoidType(), thread)
    go_on_if(status.is_ok)
    none = module.globals.get("_Py_NoneStruct") or ir.GlobalVariable(module, _BYTE, "_Py_NoneStruct")
    python("Py_IncRef", ir.VoidType(), none)
    builder.ret(none)
    return module


__all__ = ["machine_code"]
