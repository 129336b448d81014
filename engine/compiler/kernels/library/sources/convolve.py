"""Convolutions of images and their gradients for the input.

For one kernel position, all outputs of a plane read one contiguous run of memory, which tiles read in place. Between
two lines of a run there are unused results, which are not written.
"""

from numba import float32 as number
from numba import int64, njit

from engine.compiler.kernels.image_planes import copy_planes
from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import run_parts
from engine.compiler.kernels.raw_memory import array_elements, memory_at
from engine.compiler.kernels.register_tiles import LANES, ROWS, VECTORS, product_tile, write_biased
from engine.compiler.kernels.thread_pool import CallWords

lanes = LANES[number]
wide = product_tile(ROWS, VECTORS, transposed=True)
middle = product_tile(ROWS, min(VECTORS, 2), transposed=True)
narrow = product_tile(ROWS, 1, transposed=True)


@njit(nogil=True, error_model="numpy")
def pack(settings, weight, sources, packed):
    """Packs the weight in the order of the tiles: blocks of rows, then kernel positions, then rows."""
    groups, outer, skip, group_skip, sums = settings[0], settings[2], settings[17], settings[18], settings[19]
    blocks = (outer + ROWS - 1) // ROWS
    for group in range(groups):
        for block in range(blocks):
            for k in range(sums):
                to = ((group * blocks + block) * sums + k) * ROWS
                source = group * group_skip + sources[k]
                for row in range(ROWS):
                    channel = block * ROWS + row
                    packed[to + row] = weight[source + channel * skip] if channel < outer else number(0.0)


@njit(nogil=True, error_model="numpy")
def write(settings, own, product, biases, out, image, first, start, end):
    """Writes lines of a block of channels, without the unused results between them."""
    outer, pitch, height, width, run = settings[2], settings[7], settings[15], settings[16], settings[20]
    groups, columns, step = settings[0], own[3], own[7]
    for row in range(min(ROWS, outer - first)):
        more = biases[image % groups * outer + first + row]
        channel_out = out + (image * outer + first + row) * height * width
        for line in range(start, end):
            line_out = channel_out + ((line * own[6] + own[4]) * width + own[5])
            found = product + (row * run + (line - start) * pitch)
            if step == 1:
                write_biased(line_out, 0, found, 0, columns, more)
            elif step == 2:  # a constant step can be vectorized
                for i in range(columns):
                    line_out[2 * i] = found[i] + more
            else:
                for i in range(columns):
                    line_out[i * step] = found[i] + more


@machine_code("void(int64, int64, int64, int64, int64, int64, int64)")
def kernel(call_address, settings_id, images, weights, bias, results, workspace):
    """Computes a range of samples. `settings_id` is the id of a `ConvolutionRoutine`'s settings."""
    call = memory_at(call_address, int64, 0)
    if call[CallWords.COUNT] != 0:
        run_parts(call_address, workspace)
        return
    first, last, workspace = call[CallWords.FIRST], call[CallWords.LAST], call[CallWords.WORKSPACE]
    settings = array_elements(settings_id, int64, 0)
    groups, inner, outer, pitch, band = settings[0], settings[1], settings[2], settings[7], settings[12]
    rows, jobs, sums, run = settings[13], settings[14], settings[19], settings[20]
    offsets, sources = settings + settings[23], settings + settings[24]
    x, out = array_elements(images, number, 1), array_elements(results, number, 4)
    weight, biases = array_elements(weights, number, 2), array_elements(bias, number, 3)
    planes = memory_at(workspace, number, 5)
    packed, product = memory_at(workspace + settings[21], number, 6), memory_at(workspace + settings[22], number, 7)
    blocks = (outer + ROWS - 1) // ROWS

    pack(settings, weight, sources, packed)
    for sample in range(first, last):
        for group in range(groups):
            for start in range(0, rows, band):
                copy_planes(settings, x, (sample * groups + group) * inner, planes, start, min(start + band, rows))
                for job in range(jobs):
                    own = settings + (settings[25] + job * 8)
                    count, begin, columns, end = own[0], own[1], own[3], min(start + band, own[2])
                    reach = (end - start - 1) * pitch + columns
                    for block in range(blocks if start < end else 0):
                        to = ((group * blocks + block) * sums + begin) * ROWS
                        at = 0
                        while at + VECTORS * lanes <= reach:
                            wide(planes, at, offsets + begin, packed, to, ROWS, count, product, at, run)
                            at += VECTORS * lanes
                        if VECTORS > 2 and at + lanes < reach:
                            middle(planes, at, offsets + begin, packed, to, ROWS, count, product, at, run)
                            at += 2 * lanes
                        while at < reach:
                            narrow(planes, at, offsets + begin, packed, to, ROWS, count, product, at, run)
                            at += lanes
                        write(settings, own, product, biases, out, sample * groups + group, block * ROWS, start, end)
