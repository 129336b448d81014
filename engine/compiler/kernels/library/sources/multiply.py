"""Products of matrices whose elements lie at any steps.

Each element is one chain of products added with one rounding, from the first to the last, whatever the blocks.
"""

from numba import float32 as number
from numba import njit

from engine.compiler.kernels.blocks import DEPTH, HEIGHTS, PANEL, TALL, address, tile
from engine.compiler.kernels.memory import memory, wide_vectors
from engine.compiler.kernels.tiles import LANES

lanes, width = LANES[number], number.bitwidth // 8
wide = PANEL * lanes
tallest, tall, middle, low, single = (tile(rows, PANEL) for rows in HEIGHTS)
most, many, some, few, one = HEIGHTS


@njit(nogil=True, error_model="numpy")
def pack(x, row, step, rows, columns, out):
    """Panels one after the other, each with its rows one after the other; zeros fill the last."""
    source = memory(x, number, 1)
    if step != 1:
        for at in range(0, columns, wide):
            to, size = memory(out + at * DEPTH * width, number, 2), min(wide, columns - at)
            for k in range(size):
                own = source + (at + k) * step
                for i in range(rows):
                    to[i * wide + k] = own[i * row]
            for k in range(size, wide):
                for i in range(rows):
                    to[i * wide + k] = number(0.0)
        return
    for i in range(rows):
        for at in range(0, columns, wide):
            to, size = memory(out + (at * DEPTH + i * wide) * width, number, 2), min(wide, columns - at)
            if size == wide:
                for k in range(wide):
                    to[k] = source[i * row + at + k]
            else:
                for k in range(size):
                    to[k] = source[i * row + at + k]
                for k in range(size, wide):
                    to[k] = number(0.0)


def column_of(down, along):
    """The product of a group of rows and a panel, for rows that lie so."""

    @njit(nogil=True, error_model="numpy")
    def column(x, panel, count, out, pitch, rows, adds):
        done = 0
        seen = memory(panel, number, 2)
        while done < rows:
            own, to = memory(x + done * down * width, number, 1), memory(out + done * pitch * width, number, 3)
            left = rows - done
            if left >= most:
                tallest(own, down, along, seen, wide, count, to, pitch, adds)
                done += most
            elif left >= many:
                tall(own, down, along, seen, wide, count, to, pitch, adds)
                done += many
            elif left >= some:
                middle(own, down, along, seen, wide, count, to, pitch, adds)
                done += some
            elif left >= few:
                low(own, down, along, seen, wide, count, to, pitch, adds)
                done += few
            else:
                single(own, down, along, seen, wide, count, to, pitch, adds)
                done += one

    return column


of_rows, of_columns = column_of(DEPTH, 1), column_of(1, most)


@njit(nogil=True, error_model="numpy")
def lay(x, row, step, rows, count, out):
    """Rows in groups of `most`: one after the other if that is how they lie, else element by element."""
    source, to = memory(x, number, 1), memory(out, number, 2)
    if step == 1:
        for i in range(rows):
            own, there = source + i * row, to + i * DEPTH
            for k in range(count):
                there[k] = own[k]
        return
    for k in range(count):
        for group in range(rows // most):
            own, there = source + (group * most * row + k * step), to + (group * DEPTH + k) * most
            for i in range(most):
                there[i] = own[i * row]
        for i in range(rows // most * most, rows):
            to[(rows // most * DEPTH + k) * most + i % most] = source[i * row + k * step]


@njit("void(" + "int64, " * 14 + "int64)", nogil=True, cache=True, error_model="numpy")
def kernel(
    left, right, out, depth, row, step, right_row, right_step, pitch, turned, place, first, last, begin, end
):  # fmt: skip
    """Rows from `first` to `last`, columns from `begin` to `end`. `place` is memory of this thread.

    With `turned` the factors have changed places, and the result is written column by column.
    """
    wide_vectors()
    x, y, z = address(left), address(right), address(out)
    size, whole = last - first, (end - begin + wide - 1) // wide * wide
    laid = place + whole * DEPTH * width
    held = laid + (TALL + most) * DEPTH * width
    broad = whole if turned == 1 else wide
    for start in range(0, depth, DEPTH):
        count = min(DEPTH, depth - start)
        adds = 1 if start > 0 else 0
        pack(y + (start * right_row + begin * right_step) * width, right_row, right_step, count, end - begin, place)
        for top in range(0, size, TALL):
            rows = min(TALL, size - top)
            own = x + ((first + top) * row + start * step) * width
            lay(own, row, step, rows, count, laid)
            for at in range(begin, end, wide):
                columns = min(wide, end - at)
                panel = place + (at - begin) * DEPTH * width
                to, skip = z + ((first + top) * pitch + at) * width, pitch
                if turned == 1:
                    to, skip = held + (top * broad + at - begin) * width, broad
                elif columns < wide:
                    to, skip = held + top * broad * width, broad
                for group in range(0, rows, most):
                    here, there = laid + group * DEPTH * width, to + group * skip * width
                    if step == 1:
                        of_rows(here, panel, count, there, skip, min(most, rows - group), adds)
                    else:
                        of_columns(here, panel, count, there, skip, min(most, rows - group), adds)
    sums = memory(held, number, 1)
    if turned == 1:
        for i in range(begin, end):
            to = memory(z + (i * pitch + first) * width, number, 2)
            for k in range(size):
                to[k] = sums[k * broad + i - begin]
    else:
        at = begin + (end - begin) // wide * wide
        for i in range(size if at < end else 0):
            to = memory(z + ((first + i) * pitch + at) * width, number, 2)
            for k in range(end - at):
                to[k] = sums[i * broad + k]
