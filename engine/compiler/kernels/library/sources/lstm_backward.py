"""The gradient of an LSTM layer, backward through all steps, for a range of sequences.

Gradients close to zero are set to zero: they fade from step to step, and subnormal numbers are a hundred times slower.
"""

from numba import float32 as number
from numba import int64

from engine.compiler.kernels.functions import fabs
from engine.compiler.kernels.functions import tanh32 as tanh
from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.packed_matmul import add_outer_products, compiled, multiply_rows, pack_weight
from engine.compiler.kernels.parallel_calls import run_parts
from engine.compiler.kernels.raw_memory import array_elements, memory_at
from engine.compiler.kernels.register_tiles import LANES, ROWS
from engine.compiler.kernels.thread_pool import CallWords

lanes = LANES[number]
bytes_of_number = number.bitwidth // 8
one, zero, least = number(1.0), number(0.0), number(1e-30)


@compiled
def step(size, values, cells, previous_c, result_grad, dh, dc, gates_grad):
    """One step of one sequence."""
    for u in range(size):
        i, f, g, o = values[u], values[size + u], values[2 * size + u], values[3 * size + u]
        hidden = dh[u] + result_grad[u]
        squashed = tanh(cells[u])
        cell = dc[u] + (one - squashed * squashed) * o * hidden
        di = cell * g * ((one - i) * i)
        df = cell * previous_c[u] * ((one - f) * f)
        dg = cell * i * (one - g * g)
        do = hidden * squashed * ((one - o) * o)
        cell = cell * f
        gates_grad[u] = zero if fabs(di) < least else di
        gates_grad[size + u] = zero if fabs(df) < least else df
        gates_grad[2 * size + u] = zero if fabs(dg) < least else dg
        gates_grad[3 * size + u] = zero if fabs(do) < least else do
        dc[u] = zero if fabs(cell) < least else cell


@compiled
def load_previous(size, has_previous, skip, first, cells, result, start_c, start_h, previous_c, previous_h, to):
    """Loads the cell and the result of the previous step, or the initial ones."""
    for u in range(size):
        previous_c[u] = cells[skip + u] if has_previous else start_c[first + u]
        previous_h[to + u] = result[skip + u] if has_previous else start_h[first + u]


@compiled
def add_gradients(
    steps, batch, size, backwards, step_stride, sequence_stride, values_, cells_, result_, h_, c_, weight_,
    result_grad_, h_grad, c_grad, gates_grad_, panels_, offsets_, product_, previous_h_, previous_c_, row_grad_, sums_,
    weight_grad, workspace, first, last,
):  # fmt: skip
    """Computes sequences from `first` to `last`. Gradients of results have strides `far` between steps and `near`
    within one.
    """
    values, cells = array_elements(values_, number, 1), array_elements(cells_, number, 2)
    result, start_h = array_elements(result_, number, 3), array_elements(h_, number, 4)
    start_c, weight = array_elements(c_, number, 5), array_elements(weight_, number, 6)
    result_grad, gates_grad = array_elements(result_grad_, number, 7), array_elements(gates_grad_, number, 8)
    dh, dc = array_elements(h_grad, number, 9), array_elements(c_grad, number, 10)
    panels, offsets, product = (
        memory_at(workspace + panels_, number, 11),
        memory_at(workspace + offsets_, int64, 12),
        memory_at(workspace + product_, number, 13),
    )
    previous_h, previous_c, row_grad = (
        memory_at(workspace + previous_h_, number, 14),
        memory_at(workspace + previous_c_, number, 15),
        memory_at(workspace + row_grad_, number, 16),
    )
    sums, out = memory_at(workspace + sums_, number, 17), memory_at(weight_grad, number, 18)
    wide = (size + lanes - 1) // lanes * lanes
    row_offsets = offsets + 12 * size
    pack_weight(weight, 4 * size, size, 1, wide, size, panels, offsets)
    for i in range(4 * size * wide):
        sums[i] = zero
    for row in range(last - first):
        row_offsets[row] = row * wide
        for u in range(wide):
            product[row * wide + u] = dh[(first + row) * size + u] if u < size else zero
            previous_h[row * wide + u] = zero
    for u in range(size):
        row_grad[u] = zero
    for number_of_step in range(steps):
        t = number_of_step if backwards else steps - 1 - number_of_step
        previous = t + 1 if backwards else t - 1
        n = first
        while n < last:
            rows = ROWS if n + ROWS <= last else 1
            for row in range(n, n + rows):
                at, skip, to = t * batch + row, (previous * batch + row) * size, (row - first) * wide
                load_previous(size, 0 <= previous < steps, skip, row * size, cells, result, start_c, start_h,
                              previous_c, previous_h, to)  # fmt: skip
                if step_stride:
                    for u in range(size):
                        row_grad[u] = result_grad[t * step_stride + row * sequence_stride + u]
                step(size, values + at * 4 * size, cells + at * size, previous_c, row_grad, product + to,
                     dc + row * size, gates_grad + at * 4 * size)  # fmt: skip
            multiply_rows(panels, offsets, wide, gates_grad, (t * batch + n) * 4 * size, 4 * size, 4 * size, product,
                     (n - first) * wide, rows)  # fmt: skip
            n += rows
        add_outer_products(previous_h, row_offsets, wide, gates_grad, (t * batch + first) * 4 * size, 4 * size,
                           4 * size, last - first, sums)  # fmt: skip
    for row in range(last - first):
        for u in range(size):
            dh[(first + row) * size + u] = product[row * wide + u]
    for row in range(4 * size):
        for u in range(size):
            out[row * size + u] = sums[row * wide + u]


@machine_code("void(" + "int64, " * 26 + "int64)")
def kernel(
    call_address, steps, batch, size, backwards, step_stride, sequence_stride, values_, cells_, result_, h_, c_,
    weight_, result_grad_, h_grad, c_grad, gates_grad_, panels_, offsets_, product_, previous_h_, previous_c_,
    row_grad_, sums_, weight_grad, parts, workspace,
):  # fmt: skip
    """Computes parts of the sequences with separate sums."""
    call = memory_at(call_address, int64, 0)
    if call[CallWords.COUNT] != 0:
        run_parts(call_address, workspace)
        return
    for part in range(call[CallWords.FIRST], call[CallWords.LAST]):
        out = weight_grad + part * 4 * size * size * bytes_of_number
        first, last = batch * part // parts, batch * (part + 1) // parts
        add_gradients(
            steps, batch, size, backwards, step_stride, sequence_stride, values_, cells_, result_, h_, c_, weight_,
            result_grad_, h_grad, c_grad, gates_grad_, panels_, offsets_, product_, previous_h_, previous_c_, row_grad_,
            sums_, out, call[CallWords.WORKSPACE], first, last,
        )  # fmt: skip
