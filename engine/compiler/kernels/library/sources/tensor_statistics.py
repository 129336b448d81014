"""Statistics of all elements of a tensor: those of blocks, which lie in the cache, and of all blocks together."""

from math import inf, sqrt

from numba import float32 as number
from numba import float64, int64, njit

from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import run_parts
from engine.compiler.kernels.raw_memory import array_elements, memory_at, stack_array
from engine.compiler.kernels.register_tiles import LANES
from engine.compiler.kernels.statistics_tiles import LANE_SUMS, add_deviations, add_lanes
from engine.compiler.kernels.thread_pool import CallWords

LANE = LANES[number]
BLOCK = 4096
"""Elements of a block; the lanes of a sum have few enough elements for float32."""
ROW = 8
"""Numbers of a block: finite elements, their mean, squared deviations, squares, extremes, zeros and NaN."""
TINY = 1e-26
"""Sums of squares below this may have lost small elements."""
SIZE = LANE * LANE_SUMS
zero = number(0.0)


@njit(nogil=True, error_model="numpy")
def measure_block(x, length, row):
    """The numbers of a block without NaN and infinite elements. Returns whether it was one."""
    lanes = stack_array(SIZE, number, 3)
    vectors = length // LANE
    add_lanes(x, vectors, lanes)
    total, squares, low, high, zeros, deviations = 0.0, 0.0, inf, -inf, 0.0, 0.0
    for i in range(LANE):
        total += float64(lanes[i])
        squares += float64(lanes[LANE + i])
        low, high = min(low, float64(lanes[2 * LANE + i])), max(high, float64(lanes[3 * LANE + i]))
        zeros += float64(lanes[4 * LANE + i])
    for i in range(vectors * LANE, length):
        value = float64(x[i])
        total += value
        squares += value * value
        low, high = min(low, value), max(high, value)
        zeros += 1.0 if value == 0.0 else 0.0
    mean = total / float64(length)
    add_deviations(x, vectors, number(mean), lanes)
    for i in range(LANE):
        deviations += float64(lanes[i])
    for i in range(vectors * LANE, length):
        deviations += (float64(x[i]) - mean) * (float64(x[i]) - mean)
    row[0], row[1], row[2], row[3], row[4], row[5] = float64(length), mean, deviations, squares, low, high
    row[6], row[7] = zeros, 0.0
    checked = total + squares + deviations
    return checked - checked == 0.0 and (squares > TINY or zeros == float64(length))


@njit(nogil=True, error_model="numpy")
def measure_block_slowly(x, length, row):
    """The numbers of any block, in float64."""
    count, total, squares, low, high, zeros, nan, deviations = 0.0, 0.0, 0.0, inf, -inf, 0.0, 0.0, 0.0
    for i in range(length):
        value = float64(x[i])
        zeros += 1.0 if value == 0.0 else 0.0
        nan += 1.0 if value != value else 0.0
        if value - value == 0.0:
            count += 1.0
            total += value
            squares += value * value
            low, high = min(low, value), max(high, value)
    mean = total / count if count > 0.0 else 0.0
    for i in range(length):
        distance = float64(x[i]) - mean
        deviations += distance * distance if distance - distance == 0.0 else 0.0
    row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7] = (
        count, mean, deviations, squares, low, high, zeros, nan,
    )  # fmt: skip


@njit(nogil=True, error_model="numpy")
def join_blocks(rows, blocks, size, out):
    """The statistics of all blocks. Deviations are joined as by Chan, Golub and LeVeque, 1979."""
    count, mean, deviations, squares, low, high, zeros, nan = 0.0, 0.0, 0.0, 0.0, inf, -inf, 0.0, 0.0
    for block in range(blocks):
        row = rows + block * ROW
        if row[0] > 0.0:
            total = count + row[0]
            distance = row[1] - mean
            mean += distance * row[0] / total
            deviations += row[2] + distance * distance * count * row[0] / total
            squares += row[3]
            low, high = min(low, row[4]), max(high, row[5])
            count = total
        zeros += row[6]
        nan += row[7]
    out[0], out[1], out[2], out[3] = zero, zero, zero, zero
    if count > 0.0:
        out[0], out[1], out[2], out[3] = number(mean), number(sqrt(deviations / count)), number(low), number(high)
    out[4], out[5] = number(sqrt(squares)), number(zeros / float64(size))
    out[6], out[7] = number(nan), number(float64(size) - count - nan)


@machine_code("void(int64, int64, int64, int64, int64)")
def kernel(call_address, elements, partial, results, size):
    """Computes the statistics of `size` elements. `partial` has room for a row per block."""
    call = memory_at(call_address, int64, 0)
    rows = array_elements(partial, float64, 1)
    if call[CallWords.COUNT] != 0:
        run_parts(call_address, 0)
        join_blocks(rows, (size + BLOCK - 1) // BLOCK, size, array_elements(results, number, 2))
        return
    for block in range(call[CallWords.FIRST], call[CallWords.LAST]):
        x, row = array_elements(elements, number, 11) + block * BLOCK, rows + block * ROW
        length = min(BLOCK, size - block * BLOCK)
        if not measure_block(x, length, row):
            measure_block_slowly(x, length, row)
