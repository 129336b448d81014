"""Share of the units of a tensor whose elements are all 0. Reading stops where all units have another element."""

from numba import float32 as number
from numba import float64, int32, int64, njit

from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.raw_memory import array_elements, stack_array

UNITS = 64
"""Neighboring units that are read together if each has one element per line."""


@njit(nogil=True, error_model="numpy")
def count_neighbors(x, outer, stride, size):
    """Number of dead units among `size` units that have one element in each line."""
    others = stack_array(UNITS, int32, 3)
    for i in range(size):
        others[i] = int32(0)
    alive = int32(0)
    for row in range(outer):
        values, alive = x + row * stride, int32(0)
        for i in range(size):
            others[i] |= int32(values[i] != number(0.0))
            alive += others[i]
        if alive == size:
            break
    return size - int64(alive)


@njit(nogil=True, error_model="numpy")
def is_dead(x, outer, stride, inner):
    for row in range(outer):
        values, others = x + row * stride, int32(0)
        for i in range(inner):
            others |= int32(values[i] != number(0.0))
        if others != 0:
            return False
    return True


@machine_code("void(int64, int64, int64, int64, int64)")
def kernel(elements, results, outer, units, inner):
    """Computes the share of `units`. Each unit has `outer` lines of `inner` elements."""
    x = array_elements(elements, number, 1)
    dead = 0
    if inner == 1:
        for first in range(0, units, UNITS):
            dead += count_neighbors(x + first, outer, units, min(UNITS, units - first))
    else:
        for unit in range(units):
            dead += 1 if is_dead(x + unit * inner, outer, units * inner, inner) else 0
    array_elements(results, number, 2)[0] = number(float64(dead) / float64(units))
