"""Reduces a block of floats in lanes, in the order of `ReductionOrder` on every CPU. Imports numba."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending, types

from engine.compiler.kernels.numba_internals import alloca_once_value, for_range_slice
from engine.compiler.kernels.raw_memory import RawMemory

intrinsic: Any = extending.intrinsic
"""Untyped, because callers omit the first argument of decorated functions."""


def _lane_reduction(name: str, start: float) -> Any:
    """Reduces the first `count` elements in lanes; the memory must hold a multiple of their number."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind, number = context.get_data_type(signature.return_type), signature.args[2].literal_value
        vector = ir.VectorType(kind, number)
        lanes = alloca_once_value(builder, ir.Constant(vector, [start] * number))
        step, wide = ir.Constant(ir.IntType(64), number), ir.VectorType(ir.IntType(64), number)
        full = builder.and_(args[1], ir.Constant(ir.IntType(64), -number))

        def accumulate(index: Any, mask: Any = None) -> None:
            pointer = builder.gep(builder.bitcast(args[0], kind.as_pointer()), [index])
            loaded = builder.load(builder.bitcast(pointer, vector.as_pointer()), align=kind_size)
            if mask is not None:
                loaded = builder.select(mask, loaded, ir.Constant(vector, [start] * number))
            builder.store(getattr(builder, name)(builder.load(lanes), loaded), lanes)

        kind_size = context.get_abi_sizeof(kind)
        with for_range_slice(builder, step.type(0), full, step) as (index, _):
            accumulate(index)
        with builder.if_then(builder.icmp_signed("<", full, args[1])):
            first = builder.insert_element(ir.Constant(wide, ir.Undefined), builder.sub(args[1], full), _index(0))
            rest = builder.shuffle_vector(first, first, _lane_indices([0] * number))
            accumulate(full, builder.icmp_signed("<", ir.Constant(wide, list(range(number))), rest))
        found, count = builder.load(lanes), number
        while count > 1:
            count //= 2
            halves = (list(range(count)), list(range(count, 2 * count)))
            found = getattr(builder, name)(
                *(builder.shuffle_vector(found, found, _lane_indices(one)) for one in halves)
            )
        return builder.extract_element(found, _index(0))

    def typed(typing: Any, memory: Any, count: Any, lanes: Any) -> Any:
        if not isinstance(memory, RawMemory) or not isinstance(lanes, types.IntegerLiteral):
            return None
        return memory.dtype(memory, types.int64, lanes), code

    return intrinsic(prefer_literal=True)(typed)


def _index(value: int) -> Any:
    return ir.Constant(ir.IntType(32), value)


def _lane_indices(lanes: list[int]) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)


lane_sum = _lane_reduction("fadd", 0.0)
lane_product = _lane_reduction("fmul", 1.0)
