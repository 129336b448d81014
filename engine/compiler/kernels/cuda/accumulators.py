"""Accumulators of float sums, in the order of the schedule, which is that of the CPU."""

from __future__ import annotations

from dataclasses import dataclass

from engine.compiler.kernels.cuda.cuda_expressions import is_float, register_type
from engine.compiler.kernels.cuda.cuda_module import CudaModule
from engine.compiler.kernels.scalar_expression import FLOAT64, Expression

PAIR = "Two<double, double>"


@dataclass(frozen=True, slots=True)
class Accumulator:
    """How parts of a reduction are combined."""

    kind: str
    """C++ type of the accumulator."""
    start: str
    how: str
    """Functor that adds a part to the accumulator."""

    def result(self, one: Expression, name: str) -> str:
        if self.kind == PAIR:
            return f"({register_type(one.dtype)})({name}.a + {name}.b)"
        return f"({register_type(one.dtype)}){name}" if self.kind == "double" and one.dtype != FLOAT64 else name


def is_order_dependent(one: Expression) -> bool:
    """Whether the result depends on the order."""
    return one.value[0] in ("add", "multiply") and is_float(one.dtype)


def block_accumulator(module: CudaModule, one: Expression) -> Accumulator:
    """Accumulator of the blocks of a row."""
    if one.value[0] == "add" and is_float(one.dtype):
        if one.dtype == FLOAT64:
            return Accumulator(PAIR, f"{PAIR}{{0.0, 0.0}}", module.helper("Compensated"))
        return Accumulator("double", "0.0", module.helper("InDouble"))
    return same_type_accumulator(module, one)


def chunk_accumulator(module: CudaModule, one: Expression, *, numbers: bool) -> Accumulator:
    """Accumulator of chunks of rows.

    Args:
        numbers: whether rows were reduced to single numbers
    """
    if one.value[0] == "add" and is_float(one.dtype):
        if numbers:
            return Accumulator(PAIR, f"{PAIR}{{0.0, 0.0}}", module.helper("Compensated"))
        return Accumulator("double", "0.0", module.helper("InDouble"))
    return same_type_accumulator(module, one)


def row_accumulator(module: CudaModule, one: Expression, *, numbers: bool) -> Accumulator:
    """Accumulator of the rows of a chunk."""
    if numbers and one.value[0] == "add" and is_float(one.dtype):
        return Accumulator(PAIR, f"{PAIR}{{0.0, 0.0}}", module.helper("Compensated"))
    return same_type_accumulator(module, one)


def same_type_accumulator(module: CudaModule, one: Expression) -> Accumulator:
    """Accumulator in the dtype of the numbers."""
    return Accumulator(register_type(one.dtype), module.text.identity(one.value[0], one.dtype), module.combiner(one))


__all__ = [
    "PAIR",
    "Accumulator",
    "block_accumulator",
    "chunk_accumulator",
    "is_order_dependent",
    "row_accumulator",
    "same_type_accumulator",
]
