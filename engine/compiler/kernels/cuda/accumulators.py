"""How floats are added up: in the order that the schedule states, which is the CPU's."""

from __future__ import annotations

from dataclasses import dataclass

from engine.compiler.kernels.cuda.cuda_expressions import is_float, register_type
from engine.compiler.kernels.cuda.cuda_module import CudaModule
from engine.compiler.kernels.scalar_expression import FLOAT, Expression

PAIR = "Two<double, double>"


@dataclass(frozen=True, slots=True)
class Accumulator:
    """Parts of a reduction as one."""

    kind: str
    """The C++ type of a total on the way."""
    start: str
    how: str
    """The functor that takes a part into the total."""

    def result(self, one: Expression, name: str) -> str:
        if self.kind == PAIR:
            return f"({register_type(one.dtype)})({name}.a + {name}.b)"
        return f"({register_type(one.dtype)}){name}" if self.kind == "double" and one.dtype != FLOAT else name


def is_order_dependent(one: Expression) -> bool:
    """Whether the order matters."""
    return one.value[0] in ("add", "multiply") and is_float(one.dtype)


def block_accumulator(module: CudaModule, one: Expression) -> Accumulator:
    """Blocks of a row, one after the other."""
    if one.value[0] == "add" and is_float(one.dtype):
        if one.dtype == FLOAT:
            return Accumulator(PAIR, f"{PAIR}{{0.0, 0.0}}", module.helper("Compensated"))
        return Accumulator("double", "0.0", module.helper("InDouble"))
    return same_type_accumulator(module, one)


def chunk_accumulator(module: CudaModule, one: Expression, *, numbers: bool) -> Accumulator:
    """Chunks of rows, one after the other.

    Args:
        numbers: the rows were reduced to numbers
    """
    if one.value[0] == "add" and is_float(one.dtype):
        if numbers:
            return Accumulator(PAIR, f"{PAIR}{{0.0, 0.0}}", module.helper("Compensated"))
        return Accumulator("double", "0.0", module.helper("InDouble"))
    return same_type_accumulator(module, one)


def row_accumulator(module: CudaModule, one: Expression, *, numbers: bool) -> Accumulator:
    """Rows of a chunk, one after the other."""
    if numbers and one.value[0] == "add" and is_float(one.dtype):
        return Accumulator(PAIR, f"{PAIR}{{0.0, 0.0}}", module.helper("Compensated"))
    return same_type_accumulator(module, one)


def same_type_accumulator(module: CudaModule, one: Expression) -> Accumulator:
    """In the numbers' own type."""
    return Accumulator(register_type(one.dtype), module.text.identity(one.value[0], one.dtype), module.how(one))


__all__ = [
    "PAIR",
    "Accumulator",
    "block_accumulator",
    "chunk_accumulator",
    "is_order_dependent",
    "row_accumulator",
    "same_type_accumulator",
]
