"""Memory as generated kernels see it: pointers without bounds, lengths or reference counts. Imports numba.

A kernel is handed the ids of NumPy arrays, which numba takes as plain integers: unboxing an array costs five times as
much. An array object begins with Python's header, then comes the address of its elements.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.extending import lower_builtin, models, register_model

from engine.compiler.kernels.cpu_source import MAX_ARRAYS
from engine.compiler.kernels.cpython_objects import ARRAY_DATA_OFFSET
from engine.compiler.kernels.numba_internals import (
    AbstractTemplate,
    alloca_once,
    get_or_insert_function,
    infer_global,
    set_attribute,
)

intrinsic: Any = extending.intrinsic
"""Untyped, because callers omit the first argument of decorated functions."""


class RawMemory(types.Type):
    """Elements of one dtype. Memory with different `alias_set` never overlaps memory that is written."""

    def __init__(self, dtype: Any, alias_set: int) -> None:
        self.dtype, self.alias_set = dtype, alias_set
        super().__init__(f"Memory({dtype}, {alias_set})")


@register_model(RawMemory)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(8).as_pointer())


def annotate_aliasing(builder: Any, kind: RawMemory, access: Any) -> Any:
    """Marks an access with its alias set, so that LLVM knows that other memory does not overlap."""
    module = builder.module
    domain = module.add_metadata(["engine"])
    scopes = [module.add_metadata([f"array {one}", domain]) for one in range(MAX_ARRAYS)]
    access.set_metadata("alias.scope", module.add_metadata([scopes[kind.alias_set]]))
    others = [scope for alias_set, scope in enumerate(scopes) if alias_set != kind.alias_set]
    access.set_metadata("noalias", module.add_metadata(others))
    return access


def element_pointer(context: Any, builder: Any, kind: RawMemory, pointer: Any, index: Any) -> Any:
    """The address of an element. Without overflow of the index, LLVM can see that neighbors are contiguous."""
    stored = context.get_data_type(kind.dtype)
    typed = builder.bitcast(pointer, stored.as_pointer())
    return builder.gep(typed, [index], inbounds=True)


@intrinsic(prefer_literal=True)
def memory_at(typing: Any, address: Any, dtype: Any, alias_set: Any) -> Any:
    """The elements at an address."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    if not isinstance(alias_set, types.IntegerLiteral):
        return None
    return RawMemory(dtype.instance_type, alias_set.literal_value)(types.int64, dtype, alias_set), code


@intrinsic(prefer_literal=True)
def array_elements(typing: Any, identity: Any, dtype: Any, alias_set: Any) -> Any:
    """The elements of the array with this id."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        field = builder.add(args[0], ir.Constant(ir.IntType(64), ARRAY_DATA_OFFSET))
        return builder.load(builder.inttoptr(field, pointer.as_pointer()))

    if not isinstance(alias_set, types.IntegerLiteral):
        return None
    return RawMemory(dtype.instance_type, alias_set.literal_value)(types.int64, dtype, alias_set), code


@intrinsic(prefer_literal=True)
def allocate(typing: Any, count: Any, dtype: Any, alias_set: Any) -> Any:
    """Allocates memory, to be released by `free`."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size = context.get_abi_sizeof(context.data_model_manager[signature.return_type.dtype].get_data_type())
        kind = ir.FunctionType(ir.IntType(8).as_pointer(), [ir.IntType(64)])
        allocate = get_or_insert_function(builder.module, kind, "PyMem_RawMalloc")
        return builder.call(allocate, [builder.mul(args[0], ir.Constant(ir.IntType(64), size))])

    if not isinstance(alias_set, types.IntegerLiteral):
        return None
    return RawMemory(dtype.instance_type, alias_set.literal_value)(types.int64, dtype, alias_set), code


@intrinsic(prefer_literal=True)
def stack_array(typing: Any, count: Any, dtype: Any, alias_set: Any) -> Any:
    """Allocates memory on the stack."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        stored = context.get_data_type(signature.return_type.dtype)
        memory = alloca_once(builder, ir.ArrayType(stored, count.literal_value))
        memory.align = 64
        return builder.bitcast(memory, ir.IntType(8).as_pointer())

    if not isinstance(alias_set, types.IntegerLiteral) or not isinstance(count, types.IntegerLiteral):
        return None
    return RawMemory(dtype.instance_type, alias_set.literal_value)(count, dtype, alias_set), code


@intrinsic
def address_of(typing: Any, memory: Any) -> Any:
    """The address of memory."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(args[0], ir.IntType(64))

    return types.int64(memory), code


@intrinsic
def wide_vectors(typing: Any) -> Any:
    """Makes LLVM use 64-byte vectors if the CPU has them; on many CPUs its default is half of that."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        set_attribute(builder.function, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), code


@intrinsic
def free(typing: Any, memory: Any) -> Any:
    """Releases allocated memory."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
        builder.call(get_or_insert_function(builder.module, kind, "PyMem_RawFree"), args)
        return context.get_dummy_value()

    return types.void(memory), code


class _Access(AbstractTemplate):
    """`x[i]`, `x[i] = value`, and `x + i` for the memory from element i on."""

    key: Any

    def generic(self, args: Any, kws: Any) -> Any:
        if not args or not isinstance(args[0], RawMemory) or not isinstance(args[1], types.Integer):
            return None
        kind = args[0]
        if len(args) == 3:
            return types.void(kind, types.int64, kind.dtype)
        return (kind if self.key is operator.add else kind.dtype)(kind, types.int64)


for _function in (operator.getitem, operator.setitem, operator.add):
    _register: Any = infer_global(_function)
    _register(type(f"_{_function.__name__}", (_Access,), {}))


@lower_builtin(operator.getitem, RawMemory, types.Integer)
def _load(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.args[0]
    loaded = builder.load(element_pointer(context, builder, kind, *args), align=1)
    return context.data_model_manager[kind.dtype].from_data(builder, annotate_aliasing(builder, kind, loaded))


@lower_builtin(operator.setitem, RawMemory, types.Integer, types.Any)
def _store(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.args[0]
    value = context.data_model_manager[kind.dtype].as_data(builder, args[2])
    annotate_aliasing(builder, kind, builder.store(value, element_pointer(context, builder, kind, *args[:2]), align=1))
    return context.get_dummy_value()


@lower_builtin(operator.add, RawMemory, types.Integer)
def _moved(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.bitcast(element_pointer(context, builder, signature.args[0], *args), ir.IntType(8).as_pointer())
