"""Adds rows at indices to zeros, one row after the other, as NumPy's `add.at`."""

from numba import float32 as number
from numba import int64

from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import run_parts
from engine.compiler.kernels.raw_memory import array_elements, memory_at
from engine.compiler.kernels.thread_pool import CallWords


@machine_code("void(int64, int64, int64, int64, int64, int64, int64)")
def kernel(call_address, rows, positions, results, count, size, width):
    """Computes a range of columns of `count` rows with `width` numbers, for a result with `size` rows."""
    call = memory_at(call_address, int64, 0)
    if call[CallWords.COUNT] != 0:
        run_parts(call_address, 0)
        return
    first, last = call[CallWords.FIRST], call[CallWords.LAST]
    x, where, out = (
        array_elements(rows, number, 1),
        array_elements(positions, int64, 2),
        array_elements(results, number, 3),
    )
    for row in range(size):
        to = out + row * width
        for column in range(first, last):
            to[column] = number(0.0)
    for row in range(count):
        at = where[row]
        to, own = out + (at + size if at < 0 else at) * width, x + row * width
        for column in range(first, last):
            to[column] += own[column]
