"""LLVM instructions without a Python equivalent. Imports numba."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending, types

_INTEGER = {types.float32: types.int32, types.float64: types.int64}
_FLOAT = {whole: real for real, whole in _INTEGER.items()}
_IR = {types.float32: ir.FloatType(), types.float64: ir.DoubleType(), types.int32: ir.IntType(32),
       types.int64: ir.IntType(64)}  # fmt: skip

intrinsic: Any = extending.intrinsic
"""Untyped, because callers omit the first argument of decorated functions."""


@intrinsic
def bits(typing: Any, x: Any) -> Any:
    """The bits of a float as an integer."""
    kind = _INTEGER[x]
    return kind(x), lambda context, builder, signature, args: builder.bitcast(args[0], _IR[kind])


@intrinsic
def from_bits(typing: Any, x: Any) -> Any:
    """The float with these bits."""
    kind = _FLOAT[x]
    return kind(x), lambda context, builder, signature, args: builder.bitcast(args[0], _IR[kind])


def _llvm_intrinsic(name: str, arity: int) -> Any:
    """An LLVM intrinsic on floats of one type."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = _IR[signature.return_type]
        function = builder.module.declare_intrinsic(f"llvm.{name}", [kind], ir.FunctionType(kind, [kind] * arity))
        return builder.call(function, args)

    def unary(typing: Any, x: Any) -> Any:
        return (x(x), code) if x in _INTEGER else None

    def binary(typing: Any, x: Any, y: Any) -> Any:
        return (x(x, x), code) if x in _INTEGER and x == y else None

    typed = unary if arity == 1 else binary
    typed.__name__ = name
    return intrinsic(typed)


floor = _llvm_intrinsic("floor", 1)
ceil = _llvm_intrinsic("ceil", 1)
trunc = _llvm_intrinsic("trunc", 1)
rint = _llvm_intrinsic("rint", 1)
sqrt = _llvm_intrinsic("sqrt", 1)
fabs = _llvm_intrinsic("fabs", 1)
copysign = _llvm_intrinsic("copysign", 2)
larger = _llvm_intrinsic("maximum", 2)
"""The larger of two numbers; NaN if either is NaN."""
smaller = _llvm_intrinsic("minimum", 2)


@intrinsic
def fmod(typing: Any, x: Any, y: Any) -> Any:
    """The remainder with the sign of x."""
    if x not in _INTEGER or x != y:
        return None
    return x(x, x), lambda context, builder, signature, args: builder.frem(*args)


@intrinsic
def like(typing: Any, x: Any, number: Any) -> Any:
    """An integer as a float of x's type."""
    if x not in _INTEGER:
        return None
    return x(x, types.int64), lambda context, builder, signature, args: builder.sitofp(args[1], _IR[x])


@intrinsic
def wide_product(typing: Any, x: Any, y: Any) -> Any:
    """The upper and lower 64 bits of a product of integers."""
    if x != types.uint64 or y != types.uint64:
        return None
    pair = types.UniTuple(x, 2)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide, narrow = ir.IntType(128), ir.IntType(64)
        whole = builder.mul(*(builder.zext(one, wide) for one in args))
        high = builder.trunc(builder.lshr(whole, ir.Constant(wide, 64)), narrow)
        return context.make_tuple(builder, pair, [high, builder.trunc(whole, narrow)])

    return pair(x, y), code
