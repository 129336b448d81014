"""LLVM code that calls BLAS at an address. Imports numba."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending, types

intrinsic: Any = extending.intrinsic
"""Untyped, because callers omit the first argument of decorated functions."""

GEMM_WORDS = 13
"""Words of a call: those of `engine.ops.product_blocks.BlockWords`."""
_ROW_MAJOR = 101
_WORD, _ENUM = ir.IntType(64), ir.IntType(32)


@intrinsic
def call_gemm(typing: Any, words: Any, dtype: Any) -> Any:
    """Computes C = A · B by `cblas_gemm`, whose address and arguments are words at an address."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        real = context.get_value_type(dtype.instance_type)
        first = builder.inttoptr(args[0], _WORD.as_pointer())
        function, bits, *arguments = (builder.load(builder.gep(first, [_WORD(number)])) for number in range(GEMM_WORDS))

        def call(integer: Any) -> None:
            orders = [builder.trunc(one, _ENUM) for one in arguments[:2]]
            rows, columns, inner, a, a_stride, b, b_stride, c, c_stride = arguments[2:]
            sizes = [_resized(builder, one, integer) for one in (rows, columns, inner)]
            strides = [_resized(builder, one, integer) for one in (a_stride, b_stride, c_stride)]
            values = [_ENUM(_ROW_MAJOR), *orders, *sizes, real(1.0), a, strides[0], b, strides[1], real(0.0)]
            values += [c, strides[2]]
            kind = ir.FunctionType(ir.VoidType(), [value.type for value in values])
            builder.call(builder.inttoptr(function, kind.as_pointer()), values)

        with builder.if_else(builder.icmp_signed("==", bits, _WORD(64))) as (wide, narrow):
            with wide:
                call(_WORD)
            with narrow:
                call(ir.IntType(32))
        return context.get_dummy_value()

    return types.void(types.int64, dtype), code


def _resized(builder: Any, word: Any, integer: Any) -> Any:
    return word if integer == word.type else builder.trunc(word, integer)


__all__ = ["GEMM_WORDS", "call_gemm"]
