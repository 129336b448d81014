"""Parts of numba and llvmlite that are not public API. Imports numba.

All uses of them are in this file: helpers of `numba.core`, numba's calling convention, and the compiler pipeline that
turns a function into object code without a dispatcher.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import binding
from numba.core import compiler, sigutils, types
from numba.core.cgutils import alloca_once, alloca_once_value, for_range_slice, get_or_insert_function
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.typing.templates import AbstractTemplate, infer_global

_OPTIONS = {"nopython": True, "nogil": True, "boundscheck": False, "error_model": "numpy"}


class UnlinkedFunction(NamedTuple):
    """A function in numba's library, before it is linked."""

    library: Any
    descriptor: Any
    target: Any

    @property
    def argument_types(self) -> tuple[Any, ...]:
        return self.descriptor.argtypes

    def new_module(self, name: str) -> Any:
        """An LLVM module for further code."""
        return self.library.create_ir_module(name)

    def call(self, builder: Any, values: list[Any]) -> Any:
        """Adds a call to code of a new module. Returns whether it succeeded, as a boolean of LLVM."""
        declared = self.target.declare_function(builder.module, self.descriptor)
        status, _ = self.target.call_conv.call_function(
            builder, declared, types.void, self.argument_types, values, attrs=("noinline",)
        )
        return status.is_ok

    def object_code(self, module: Any) -> tuple[bytes, tuple[str, ...]]:
        """Machine code with that of `module`, and the names of the functions that it imports."""
        self.library.add_ir_module(module)
        self.library.finalize()
        code, bitcode = self.library.serialize_using_object_code()[2]
        declared = [one.name for one in binding.parse_bitcode(bitcode).functions if one.is_declaration]
        return code, tuple(name for name in declared if not name.startswith("llvm."))


def compile_function(function: Any, signature: str) -> UnlinkedFunction:
    """Compiles a function for a signature such as "void(int64, float64)"."""
    arguments = sigutils.normalize_signature(signature)[0]
    description: Any = cpu_target
    typing, target = description.typing_context, description.target_context
    typing.refresh()
    target.refresh()
    flags: Any = compiler.Flags()
    description.options.parse_as_flags(flags, _OPTIONS)
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
    found: Any = compiler.compile_extra(typing, target, function, arguments, types.void, flags, {})
    return UnlinkedFunction(found.library, found.fndesc, target)


def hidden_arguments(function: Any) -> Any:
    """Arguments that numba adds in front of a function's own: addresses of the result and of an error."""
    return function.args[:2]


def own_arguments(function: Any) -> Any:
    """The arguments of a function without those that numba adds."""
    return function.args[2:]


def set_attribute(function: Any, attribute: str) -> None:
    """Sets an attribute that llvmlite has no name for, such as '"prefer-vector-width"="512"'."""
    set.add(function.attributes, attribute)


__all__ = [
    "AbstractTemplate",
    "UnlinkedFunction",
    "alloca_once",
    "alloca_once_value",
    "compile_function",
    "for_range_slice",
    "get_or_insert_function",
    "global_compiler_lock",
    "hidden_arguments",
    "infer_global",
    "own_arguments",
    "set_attribute",
]
