"""Adds each number to the selected element of its window.

Windows are processed from last to first, so that an element gets its numbers in the order of the op's NumPy kernel.
"""

from numba import float32 as number
from numba import int64, njit, uint8

from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import run_parts
from engine.compiler.kernels.raw_memory import array_elements, memory_at
from engine.compiler.kernels.thread_pool import CallWords


@njit(nogil=True, error_model="numpy")
def spread_pairs(g, which, out, width, rows, columns, tall):
    """Windows of width 2 without overlap or gaps: vectorized by lines."""
    for row in range(rows):
        values, positions = g + row * columns, which + row * columns
        for line in range(tall):
            to = out + (row * tall + line) * width
            left, right = uint8(2 * line), uint8(2 * line + 1)
            for column in range(columns):
                value, position = values[column], positions[column]
                to[2 * column] = value if position == left else number(0.0)
                to[2 * column + 1] = value if position == right else number(0.0)


@machine_code("void(int64, int64, int64, int64, int64)")
def kernel(call_address, settings_id, gradients, picked, results):
    """Computes a range of planes. `settings_id` is the id of a `MaxPoolRoutine`'s settings."""
    call = memory_at(call_address, int64, 0)
    if call[CallWords.COUNT] != 0:
        run_parts(call_address, 0)
        return
    first, last = call[CallWords.FIRST], call[CallWords.LAST]
    settings = array_elements(settings_id, int64, 0)
    height, width, rows, columns, tall = settings[0], settings[1], settings[2], settings[3], settings[4]
    broad, down, across, above, before = settings[5], settings[6], settings[7], settings[8], settings[9]
    dilation_down, dilation_across, overlap = settings[10], settings[11], settings[12]
    g, which, out = (
        array_elements(gradients, number, 1),
        array_elements(picked, uint8, 2),
        array_elements(results, number, 3),
    )
    is_tiled = down == tall and across == broad == 2 and dilation_down == dilation_across == 1
    pairs = is_tiled and above == before == 0 and rows * tall <= height and columns * 2 <= width
    for plane in range(first, last):
        plane_out = out + plane * height * width
        for i in range(height * width):
            plane_out[i] = number(0.0)
        if pairs:
            spread_pairs(
                g + plane * rows * columns, which + plane * rows * columns, plane_out, width, rows, columns, tall
            )
            continue
        for row in range(rows - 1, -1, -1):
            here = (plane * rows + row) * columns
            for column in range(columns - 1, -1, -1):
                position = int64(which[here + column])
                line = row * down + position // broad * dilation_down - above
                at = column * across + position % broad * dilation_across - before
                if 0 <= line < height and 0 <= at < width:
                    to = plane_out + (line * width + at)
                    to[0] = to[0] + g[here + column] if overlap else g[here + column]
