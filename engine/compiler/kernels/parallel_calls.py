"""LLVM code by which a kernel divides its work among the threads of the pool. Imports numba.

The calling thread offers parts, computes parts until none is left, and waits for parts that workers have started. So a
worker that arrives late costs nothing.
"""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba import extending, types

from engine.compiler.kernels.numba_internals import (
    alloca_once,
    get_or_insert_function,
    hidden_arguments,
    own_arguments,
)
from engine.compiler.kernels.thread_pool import CallWords, PoolWords

intrinsic: Any = extending.intrinsic
"""Untyped, because callers omit the first argument of decorated functions."""

WORD, NOTHING = ir.IntType(64), ir.VoidType()
_PART = ir.FunctionType(NOTHING, [WORD, WORD, WORD, WORD])
_OFFER = ir.FunctionType(NOTHING, [WORD, WORD, WORD])
_ARM = platform.machine().lower() in ("arm64", "aarch64")
_X86 = platform.machine().lower() in ("x86_64", "amd64")
_ORDERED = "seq_cst"


def _pointer(builder: Any, address: Any, word: int = 0) -> Any:
    if word:
        address = builder.add(address, WORD(8 * word))
    return builder.inttoptr(address, WORD.as_pointer())


@intrinsic
def run_parts(typing: Any, call_address: Any, workspace: Any) -> Any:
    """Runs the enclosing kernel in parts, in this thread and in workers.

    Each part gets the same arguments, except for a copy of the call words.
    """

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kernel, (call_address_, workspace_) = builder.function, args
        kernel_arguments = own_arguments(kernel)
        struct = ir.LiteralStructType([WORD, *(one.type for one in kernel_arguments)])
        argument_struct = alloca_once(builder, struct)
        for number, value in enumerate([workspace_, *kernel_arguments]):
            builder.store(value, builder.gep(argument_struct, [ir.IntType(32)(0), ir.IntType(32)(number)]))
        part, arguments = _part(kernel, struct), builder.ptrtoint(argument_struct, WORD)
        pool = builder.load(_pointer(builder, call_address_, CallWords.POOL))
        offer = builder.load(_pointer(builder, pool, PoolWords.OFFER_FUNCTION))
        with builder.if_else(builder.icmp_signed("!=", offer, WORD(0))) as (many, one):
            with many:
                function = builder.inttoptr(offer, _OFFER.as_pointer())
                builder.call(function, [call_address_, builder.ptrtoint(part, WORD), arguments])
            with one:
                builder.call(
                    part, [arguments, WORD(0), WORD(0), builder.load(_pointer(builder, call_address_, CallWords.COUNT))]
                )
        return context.get_dummy_value()

    return types.void(call_address, workspace), code


def _part(kernel: Any, struct: Any) -> Any:
    """A function that runs one part of `kernel`, given its arguments, a thread number and a range."""
    part = ir.Function(kernel.module, _PART, f"{kernel.name}.part")
    part.linkage = "internal"
    builder = ir.IRBuilder(part.append_basic_block())
    arguments, thread_number, first, last = part.args
    argument_struct = builder.inttoptr(arguments, struct.as_pointer())
    workspace, call_address, *rest = (
        builder.load(builder.gep(argument_struct, [ir.IntType(32)(0), ir.IntType(32)(number)]))
        for number in range(len(struct.elements))
    )
    call = builder.alloca(ir.ArrayType(WORD, CallWords.SIZE))
    copy = builder.ptrtoint(call, WORD)
    for word in range(CallWords.SIZE):
        builder.store(builder.load(_pointer(builder, call_address, word)), _pointer(builder, copy, word))
    workspace_stride = builder.load(_pointer(builder, call_address, CallWords.WORKSPACE_STRIDE))
    workspace = builder.add(workspace, builder.mul(thread_number, workspace_stride))
    for word, value in (
        (CallWords.COUNT, WORD(0)),
        (CallWords.FIRST, first),
        (CallWords.LAST, last),
        (CallWords.WORKSPACE, workspace),
    ):
        builder.store(value, _pointer(builder, copy, word))
    hidden = [builder.bitcast(builder.alloca(WORD), one.type) for one in hidden_arguments(kernel)]
    builder.call(kernel, [*hidden, copy, *rest])
    builder.ret_void()
    return part


@intrinsic
def register_offer(typing: Any, pool: Any) -> Any:
    """Stores the address of the function that offers parts: the enclosing function, called with `pool` and 0."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kernel = builder.function
        function = ir.Function(kernel.module, _OFFER, f"{kernel.name}.offer")
        function.linkage = "internal"
        offer_builder = ir.IRBuilder(function.append_basic_block())
        pool = offer_builder.load(_pointer(offer_builder, function.args[0], CallWords.POOL))
        hidden = [offer_builder.bitcast(offer_builder.alloca(WORD), one.type) for one in hidden_arguments(kernel)]
        offer_builder.call(kernel, [*hidden, pool, WORD(0), *function.args])
        offer_builder.ret_void()
        builder.store(builder.ptrtoint(function, WORD), _pointer(builder, args[0], PoolWords.OFFER_FUNCTION))
        return context.get_dummy_value()

    return types.void(pool), code


@intrinsic
def call_part(typing: Any, part: Any, arguments: Any, thread_number: Any, first: Any, last: Any) -> Any:
    """Calls the part function at an address."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.call(builder.inttoptr(args[0], _PART.as_pointer()), args[1:])
        return context.get_dummy_value()

    return types.void(part, arguments, thread_number, first, last), code


@intrinsic
def call_system(typing: Any, function: Any, x: Any, y: Any) -> Any:
    """Calls a system function at an address with up to three arguments."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(32), [WORD, WORD, WORD])
        found = builder.call(builder.inttoptr(args[0], kind.as_pointer()), [*args[1:], WORD(0)])
        return builder.sext(found, WORD)

    return types.int64(function, x, y), code


# -- atomic access


@intrinsic
def atomic_load(typing: Any, address: Any) -> Any:
    """Atomic load."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_pointer(builder, args[0]), _ORDERED, 8)

    return types.int64(address), code


@intrinsic
def atomic_store(typing: Any, address: Any, number: Any) -> Any:
    """Atomic store."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[1], _pointer(builder, args[0]), _ORDERED, 8)
        return context.get_dummy_value()

    return types.void(address, number), code


@intrinsic
def atomic_increment(typing: Any, address: Any) -> Any:
    """Atomic increment."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.atomic_rmw("add", _pointer(builder, args[0]), WORD(1), _ORDERED)
        return context.get_dummy_value()

    return types.void(address), code


@intrinsic
def compare_exchange(typing: Any, address: Any, old: Any, new: Any) -> Any:
    """Atomic compare and exchange; returns whether `old` was replaced."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        found = builder.cmpxchg(_pointer(builder, args[0]), args[1], args[2], _ORDERED, _ORDERED)
        return builder.extract_value(found, 1)

    return types.boolean(address, old, new), code


@intrinsic
def cpu_pause(typing: Any) -> Any:
    """Tells the CPU that this thread is spinning."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if _X86:
            builder.call(
                get_or_insert_function(builder.module, ir.FunctionType(NOTHING, []), "llvm.x86.sse2.pause"), []
            )
        if _ARM:
            kind = ir.FunctionType(NOTHING, [ir.IntType(32)])
            builder.call(
                get_or_insert_function(builder.module, kind, "llvm.aarch64.hint"), [ir.IntType(32)(1)]
            )  # yield
        return context.get_dummy_value()

    return types.void(), code


__all__ = [
    "atomic_increment",
    "atomic_load",
    "atomic_store",
    "call_part",
    "call_system",
    "compare_exchange",
    "cpu_pause",
    "register_offer",
    "run_parts",
]
