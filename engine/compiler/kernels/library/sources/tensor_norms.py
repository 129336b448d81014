"""Norms of tensors, or of tensors in a vector and of their changes since, in one call. Sums are in float64."""

from math import sqrt

from numba import float32 as number
from numba import float64, int64, njit

from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import run_parts
from engine.compiler.kernels.raw_memory import array_elements, memory_at, stack_array
from engine.compiler.kernels.statistics_tiles import WIDE_LANES, add_squared_changes, add_squares
from engine.compiler.kernels.thread_pool import CallWords

COLUMNS = 4
"""Numbers of a block: its tensor, its first element in the tensor and in the vector, and its length."""
SIZE = 2 * WIDE_LANES


@njit(nogil=True, error_model="numpy")
def measure(x, length):
    lanes = stack_array(SIZE, float64, 3)
    vectors = length // WIDE_LANES
    add_squares(x, vectors, lanes)
    total = 0.0
    for i in range(WIDE_LANES):
        total += lanes[i]
    for i in range(vectors * WIDE_LANES, length):
        total += float64(x[i]) * float64(x[i])
    return total


@njit(nogil=True, error_model="numpy")
def measure_change(before, after, length):
    lanes = stack_array(SIZE, float64, 3)
    vectors = length // WIDE_LANES
    add_squared_changes(before, after, vectors, lanes)
    total, changed = 0.0, 0.0
    for i in range(WIDE_LANES):
        total += lanes[i]
        changed += lanes[WIDE_LANES + i]
    for i in range(vectors * WIDE_LANES, length):
        old = float64(before[i])
        change = float64(after[i]) - old
        total += old * old
        changed += change * change
    return total, changed


@machine_code("void(int64, int64, int64, int64, int64, int64, int64)")
def kernel(call_address, tensors, blocks, vector, partial, results, count):
    """Computes the norms of `count` tensors, whose ids are in `tensors`.

    Args:
        vector: id of the vector with the elements before; 0 for no changes
        partial: has room for two numbers per block
        results: norms, then those of the changes
    """
    call = memory_at(call_address, int64, 0)
    ids, table = array_elements(tensors, int64, 1), array_elements(blocks, int64, 2)
    sums = array_elements(partial, float64, 4)
    if call[CallWords.COUNT] != 0:
        blocks_in_all = call[CallWords.COUNT]
        run_parts(call_address, 0)
        out = array_elements(results, number, 5)
        size = 2 * count if vector != 0 else count
        for i in range(size):
            out[i] = number(0.0)
        block = 0
        while block < blocks_in_all:
            tensor, total, changed = table[block * COLUMNS], 0.0, 0.0
            while block < blocks_in_all and table[block * COLUMNS] == tensor:
                total += sums[2 * block]
                changed += sums[2 * block + 1]
                block += 1
            out[tensor] = number(sqrt(total))
            if vector != 0:
                out[count + tensor] = number(sqrt(changed))
        return
    for block in range(call[CallWords.FIRST], call[CallWords.LAST]):
        row = table + block * COLUMNS
        x, length = array_elements(ids[row[0]], number, 6) + row[1], row[3]
        sums[2 * block + 1] = 0.0
        if vector != 0:
            sums[2 * block], sums[2 * block + 1] = measure_change(array_elements(vector, number, 7) + row[2], x, length)
        else:
            sums[2 * block] = measure(x, length)
