"""The maximum of each window and its index in the window: the first of equal ones, or the last NaN."""

from math import inf

from numba import float32 as number
from numba import int32, int64, uint8

from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import run_parts
from engine.compiler.kernels.pooling_windows import compare_windows
from engine.compiler.kernels.raw_memory import array_elements, memory_at, stack_array
from engine.compiler.kernels.register_tiles import LANES
from engine.compiler.kernels.thread_pool import CallWords

LANE = LANES[number]
lowest = number(-inf)
next_ones, every_other = compare_windows(1), compare_windows(2)


@machine_code("void(int64, int64, int64, int64, int64)")
def kernel(call_address, settings_id, images, results, picked):
    """Computes a range of planes. `settings_id` is the id of a `MaxPoolRoutine`'s settings; strides are 1 or 2."""
    call = memory_at(call_address, int64, 0)
    if call[CallWords.COUNT] != 0:
        run_parts(call_address, 0)
        return
    first, last = call[CallWords.FIRST], call[CallWords.LAST]
    settings = array_elements(settings_id, int64, 0)
    height, width, rows, columns, tall, broad = (
        settings[0], settings[1], settings[2], settings[3], settings[4], settings[5],
    )  # fmt: skip
    down, across = settings[6], settings[7]
    x, out, which = (
        array_elements(images, number, 1),
        array_elements(results, number, 2),
        array_elements(picked, uint8, 3),
    )
    best, numbers = stack_array(LANE, number, 4), stack_array(LANE, int32, 5)
    for line in range(first * rows, last * rows):
        plane, top = line // rows * height, line % rows * down - settings[8]
        for begin in range(0, columns, LANE):
            for i in range(LANE):
                best[i] = lowest
                numbers[i] = int32(0)
            for position in range(tall * broad):
                row = top + position // broad * settings[10]
                left = begin * across + position % broad * settings[11] - settings[9]
                if 0 <= row < height:
                    if across == 1:
                        next_ones(x, (plane + row) * width, left, width, best, numbers, position)
                    else:
                        every_other(x, (plane + row) * width, left, width, best, numbers, position)
            at = line * columns + begin
            if begin + LANE <= columns:
                for i in range(LANE):
                    out[at + i] = best[i]
                    which[at + i] = uint8(numbers[i])
            else:
                for i in range(columns - begin):
                    out[at + i] = best[i]
                    which[at + i] = uint8(numbers[i])
