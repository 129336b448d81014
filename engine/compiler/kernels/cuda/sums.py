"""How floats are added up: in the order that the schedule states, which is the CPU's."""

from __future__ import annotations

from dataclasses import dataclass

from engine.compiler.kernels.cuda.module import Module
from engine.compiler.kernels.cuda.scalars import held, is_float
from engine.compiler.kernels.expression import FLOAT, Expression

PAIR = "Two<double, double>"


@dataclass(frozen=True, slots=True)
class Total:
    """Parts of a reduction as one."""

    kind: str
    """The C++ type of a total on the way."""
    start: str
    how: str
    """The functor that takes a part into the total."""

    def result(self, one: Expression, name: str) -> str:
        if self.kind == PAIR:
            return f"({held(one.dtype)})({name}.a + {name}.b)"
        return f"({held(one.dtype)}){name}" if self.kind == "double" and one.dtype != FLOAT else name


def is_ordered(one: Expression) -> bool:
    """Whether the order matters."""
    return one.value[0] in ("add", "multiply") and is_float(one.dtype)


def total_of_blocks(module: Module, one: Expression) -> Total:
    """Blocks of a row, one after the other."""
    if one.value[0] == "add" and is_float(one.dtype):
        if one.dtype == FLOAT:
            return Total(PAIR, f"{PAIR}{{0.0, 0.0}}", module.helper("Compensated"))
        return Total("double", "0.0", module.helper("InDouble"))
    return total_alike(module, one)


def total_of_chunks(module: Module, one: Expression, *, numbers: bool) -> Total:
    """Chunks of rows, one after the other.

    Args:
        numbers: the rows were reduced to numbers
    """
    if one.value[0] == "add" and is_float(one.dtype):
        if numbers:
            return Total(PAIR, f"{PAIR}{{0.0, 0.0}}", module.helper("Compensated"))
        return Total("double", "0.0", module.helper("InDouble"))
    return total_alike(module, one)


def chunk_of(module: Module, one: Expression, *, numbers: bool) -> Total:
    """Rows of a chunk, one after the other."""
    if numbers and one.value[0] == "add" and is_float(one.dtype):
        return Total(PAIR, f"{PAIR}{{0.0, 0.0}}", module.helper("Compensated"))
    return total_alike(module, one)


def total_alike(module: Module, one: Expression) -> Total:
    """In the numbers' own type."""
    return Total(held(one.dtype), module.text.identity(one.value[0], one.dtype), module.how(one))


__all__ = ["PAIR", "Total", "chunk_of", "is_ordered", "total_alike", "total_of_blocks", "total_of_chunks"]
