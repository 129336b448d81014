"""Each number is added to the one element of its window that was picked.

Windows are gone through from the last to the first: an element then gets its numbers in the order of their places in
the windows, as in the op's own kernel.
"""

from numba import float32 as number
from numba import int64, uint8

from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.memory import elements, memory
from engine.compiler.kernels.sharing import shared
from engine.compiler.kernels.team import Call


@machine_code("void(int64, int64, int64, int64, int64)")
def kernel(share, told, gradients, picked, results):
    """Planes. `told` are the settings of `Pool`."""
    call = memory(share, int64, 0)
    if call[Call.COUNT] != 0:
        shared(share, 0)
        return
    first, last = call[Call.FIRST], call[Call.LAST]
    settings = elements(told, int64, 0)
    height, width, rows, columns = settings[0], settings[1], settings[2], settings[3]
    broad, down, across, above, before = settings[5], settings[6], settings[7], settings[8], settings[9]
    apart_down, apart_across = settings[10], settings[11]
    g, which, out = elements(gradients, number, 1), elements(picked, uint8, 2), elements(results, number, 3)
    for plane in range(first, last):
        whole = out + plane * height * width
        for i in range(height * width):
            whole[i] = number(0.0)
        for row in range(rows - 1, -1, -1):
            here = (plane * rows + row) * columns
            for column in range(columns - 1, -1, -1):
                place = int64(which[here + column])
                line = row * down + place // broad * apart_down - above
                at = column * across + place % broad * apart_across - before
                if 0 <= line < height and 0 <= at < width:
                    whole[line * width + at] += g[here + column]
