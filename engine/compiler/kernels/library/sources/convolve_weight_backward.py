"""Gradient of a convolution for its weight: sums over positions of padded planes.

Samples, or bands of their rows, are copied in blocks that stay in the cache; the sums of all blocks are added in order.
"""

from numba import float32 as number
from numba import int64, njit

from engine.compiler.kernels.image_planes import copy_planes
from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import run_parts
from engine.compiler.kernels.raw_memory import array_elements, memory_at
from engine.compiler.kernels.register_tiles import DOT_COLUMNS, DOT_ROWS, LANES, copy_padded, dot_tile
from engine.compiler.kernels.thread_pool import CallWords

lanes = LANES[number]
width = number.bitwidth // 8
tile = dot_tile(DOT_ROWS, DOT_COLUMNS)
SIZE = (DOT_ROWS * DOT_COLUMNS + lanes - 1) // lanes * lanes


@njit(nogil=True, error_model="numpy")
def copy_rows(settings, g, image, upper, tall, start, end):
    """Copies lines of the channels of a gradient, padded with zeros as the planes are."""
    outer, pitch, rows, columns, run = settings[2], settings[7], settings[13], settings[14], settings[18]
    for channel in range(tall):
        row = upper + channel * run
        at = 0
        if channel < outer:
            channel_lines = g + (image * outer + channel) * rows * columns
            for line in range(start, end):
                copy_padded(row, at, channel_lines, line * columns, columns)
                for i in range(columns, pitch):
                    row[at + i] = number(0.0)
                at += pitch
        for i in range(at, run):
            row[i] = number(0.0)


@njit(nogil=True, error_model="numpy")
def reorder_sums(out, found, outer, sums, tall):
    """Reorders sums from tiles to rows."""
    for column in range(sums):
        for row in range(outer):
            tiles = column // DOT_COLUMNS * (tall // DOT_ROWS) + row // DOT_ROWS
            index = row % DOT_ROWS * DOT_COLUMNS + column % DOT_COLUMNS
            out[row * sums + column] = found[tiles * SIZE + index]


@njit(nogil=True, error_model="numpy")
def sum_units(settings_id, images, gradients, results, workspace, first, last):
    """Sums units from `first` to `last`; a unit is a band of a sample."""
    settings = array_elements(settings_id, int64, 0)
    groups, inner, outer, down, across = settings[0], settings[1], settings[2], settings[5], settings[6]
    length, band, rows = settings[8], settings[12], settings[13]
    bands, block_units, sums, run = settings[15], settings[16], settings[17], settings[18]
    offsets = settings + settings[23]
    x, g = array_elements(images, number, 1), array_elements(gradients, number, 2)
    out = memory_at(results, number, 3)
    planes = memory_at(workspace, number, 4)
    upper, found = memory_at(workspace + settings[19], number, 5), memory_at(workspace + settings[20], number, 6)
    g_offsets, x_offsets = memory_at(workspace + settings[21], int64, 7), memory_at(workspace + settings[22], int64, 7)
    tall = (outer + DOT_ROWS - 1) // DOT_ROWS * DOT_ROWS
    broad = (sums + DOT_COLUMNS - 1) // DOT_COLUMNS * DOT_COLUMNS
    size_of_sums = tall * broad // (DOT_ROWS * DOT_COLUMNS) * SIZE
    steps = run // lanes
    size = inner * down * across * length
    for unit in range(block_units):
        for step in range(steps):
            g_offsets[unit * steps + step] = unit * tall * run + step * lanes
            x_offsets[unit * steps + step] = unit * size + step * lanes

    for group in range(groups):
        for i in range(size_of_sums):
            found[i] = number(0.0)
        for begin in range(first, last, block_units):
            units = min(block_units, last - begin)
            for unit in range(units):
                sample, start = (begin + unit) // bands, (begin + unit) % bands * band
                end = min(start + band, rows)
                copy_planes(settings, x, (sample * groups + group) * inner, planes + unit * size, start, end)
                copy_rows(settings, g, sample * groups + group, upper + unit * tall * run, tall, start, end)
            to = 0
            for column in range(0, broad, DOT_COLUMNS):
                for row in range(0, tall, DOT_ROWS):
                    tile(upper, g_offsets, row * run, run, planes, x_offsets, offsets, column, units * steps, found, to)
                    to += SIZE
        reorder_sums(out + group * outer * sums, found, outer, sums, tall)


@machine_code("void(int64, int64, int64, int64, int64, int64)")
def kernel(call_address, settings_id, images, gradients, results, workspace):
    """Computes parts of the samples with separate sums. `settings_id` is the id of a `ConvolutionWeightBackward`'s
    settings.
    """
    call = memory_at(call_address, int64, 0)
    if call[CallWords.COUNT] != 0:
        run_parts(call_address, workspace)
        return
    settings = array_elements(settings_id, int64, 0)
    parts, units, size = settings[24], settings[25], settings[26]
    for part in range(call[CallWords.FIRST], call[CallWords.LAST]):
        out = results + part * size * width
        sum_units(
            settings_id,
            images,
            gradients,
            out,
            call[CallWords.WORKSPACE],
            units * part // parts,
            units * (part + 1) // parts,
        )
