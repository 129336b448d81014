"""Attention: scores, softmax and weighted values, for blocks of queries of one head after the other."""

from numba import float32 as number
from numba import int64

from engine.compiler.kernels.blocked_matmul import array_address, padded_copies, tiled_matmul
from engine.compiler.kernels.functions import exp32, exp64, lane_sum, larger
from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import run_parts
from engine.compiler.kernels.raw_memory import array_elements, memory_at, wide_vectors
from engine.compiler.kernels.register_tiles import LANES, ROWS
from engine.compiler.kernels.thread_pool import CallWords

lanes, width = LANES[number], number.bitwidth // 8
multiply = tiled_matmul(number)
pad, transpose, unpad = padded_copies(number)
exp = exp64 if number.bitwidth == 64 else exp32


@machine_code("void(int64, int64, int64, int64, int64, int64, int64, float64, int64)")
def kernel(call_address, settings_id, queries, keys, values, results, weights, scale, workspace):
    """Computes a range of heads. `settings_id` is the id of an `AttentionLayout`'s settings."""
    wide_vectors()
    call = memory_at(call_address, int64, 0)
    if call[CallWords.COUNT] != 0:
        run_parts(call_address, workspace)
        return
    first, last, workspace = call[CallWords.FIRST], call[CallWords.LAST], call[CallWords.WORKSPACE]
    settings = array_elements(settings_id, int64, 0)
    heads, length, size, inner, outer, causal = (
        settings[0], settings[1], settings[2], settings[3], settings[4], settings[5]
    )  # fmt: skip
    pitch, broad = settings[6], settings[7]
    of_query, of_key, of_value, of_result = settings + 8, settings + 11, settings + 14, settings + 17
    transposed_keys, rows_of_values = workspace, workspace + settings[20]
    scored, result = workspace + settings[21], workspace + settings[22]
    scores = memory_at(scored, number, 1)
    weight = array_elements(weights, number, 2)
    query, key, value, out = array_address(queries), array_address(keys), array_address(values), array_address(results)
    factor = number(scale)
    for head in range(first, last):
        b, h = head // heads, head % heads
        transpose(key + (b * of_key[0] + h * of_key[1]) * width, of_key[2], size, inner, transposed_keys, pitch)
        pad(value + (b * of_value[0] + h * of_value[1]) * width, of_value[2], size, outer, rows_of_values, broad)
        queries_of_head = query + (b * of_query[0] + h * of_query[1]) * width
        for start in range(0, length, ROWS):
            rows = min(ROWS, length - start)
            visible = min(start + rows, size) if causal else size
            multiply(
                queries_of_head + start * of_query[2] * width, of_query[2], 1, transposed_keys, pitch, inner, scored,
                pitch, rows, (visible + lanes - 1) // lanes, 0,
            )  # fmt: skip
            for row in range(rows):
                own = scores + row * pitch
                count = min(start + row + 1, size) if causal else size
                top = own[0] * factor
                for i in range(count):
                    own[i] = own[i] * factor
                    top = larger(top, own[i])
                for i in range(count):
                    own[i] = exp(own[i] - top)
                inverse_sum = number(1.0) / lane_sum(own, count, 32)
                to = weight + (head * length + start + row) * size
                for i in range(count):
                    own[i] = own[i] * inverse_sum
                for i in range(count, visible):
                    own[i] = number(0.0)
                for i in range(visible):
                    to[i] = own[i]
                for i in range(visible, size):
                    to[i] = number(0.0)
            multiply(scored, pitch, 1, rows_of_values, broad, visible, result, broad, rows, broad // lanes, 0)
            to = out + (b * of_result[0] + h * of_result[1] + start * of_result[2]) * width
            unpad(result, broad, rows, outer, to, of_result[2], number(1.0))
