"""An LSTM layer over all steps, for a range of sequences."""

from numba import float32 as number
from numba import int64

from engine.compiler.kernels.functions import exp32 as exp
from engine.compiler.kernels.functions import tanh32 as tanh
from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.packed_matmul import compiled, multiply_rows, pack_weight
from engine.compiler.kernels.parallel_calls import run_parts
from engine.compiler.kernels.raw_memory import array_elements, memory_at
from engine.compiler.kernels.register_tiles import LANES, ROWS
from engine.compiler.kernels.thread_pool import CallWords

lanes = LANES[number]
one = number(1.0)


@compiled
def step(size, gates, product, values, cells, out, h, c):
    """One step of one sequence: activates gates and updates states."""
    for u in range(size):
        i = one / (one + exp(-(gates[u] + product[u])))
        f = one / (one + exp(-(gates[size + u] + product[size + u])))
        g = tanh(gates[2 * size + u] + product[2 * size + u])
        o = one / (one + exp(-(gates[3 * size + u] + product[3 * size + u])))
        cell = f * c[u] + i * g
        hidden = o * tanh(cell)
        values[u] = i
        values[size + u] = f
        values[2 * size + u] = g
        values[3 * size + u] = o
        cells[u] = cell
        c[u] = cell
        out[u] = hidden
        h[u] = hidden


@machine_code("void(" + "int64, " * 17 + "int64)")
def kernel(
    call_address, steps, batch, size, backwards, gates_, h_, c_, weight_, out_, last_h, last_c, values_, cells_,
    panels_, offsets_, product_, workspace,
):  # fmt: skip
    """Computes a range of sequences. The numbers before `workspace` are offsets in it."""
    call = memory_at(call_address, int64, 0)
    if call[CallWords.COUNT] != 0:
        run_parts(call_address, workspace)
        return
    first, last, workspace = call[CallWords.FIRST], call[CallWords.LAST], call[CallWords.WORKSPACE]
    gates, start_h, start_c = (
        array_elements(gates_, number, 1),
        array_elements(h_, number, 2),
        array_elements(c_, number, 3),
    )
    weight, out = array_elements(weight_, number, 4), array_elements(out_, number, 5)
    h, c = array_elements(last_h, number, 6), array_elements(last_c, number, 7)
    values, cells = array_elements(values_, number, 8), array_elements(cells_, number, 9)
    panels, product, offsets = (
        memory_at(workspace + panels_, number, 10),
        memory_at(workspace + product_, number, 11),
        memory_at(workspace + offsets_, int64, 12),
    )
    wide = (4 * size + lanes - 1) // lanes * lanes
    pack_weight(weight, size, 1, size, wide, 4 * size, panels, offsets)
    for i in range(first * size, last * size):
        h[i] = start_h[i]
        c[i] = start_c[i]
    for number_of_step in range(steps):
        t = steps - 1 - number_of_step if backwards else number_of_step
        n = first
        while n < last:
            rows = ROWS if n + ROWS <= last else 1
            multiply_rows(panels, offsets, wide, h, n * size, size, size, product, 0, rows)
            for row in range(n, n + rows):
                at = t * batch + row
                here = product + (row - n) * wide
                wider, narrow = at * 4 * size, at * size
                step(size, gates + wider, here, values + wider, cells + narrow, out + narrow, h + row * size,
                     c + row * size)  # fmt: skip
            n += rows
