"""Gradients of attention for queries, keys and values, of one head after the other."""

from numba import float32 as number
from numba import int64

from engine.compiler.kernels.blocked_matmul import array_address, padded_copies, tiled_matmul
from engine.compiler.kernels.functions import lane_sum
from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import run_parts
from engine.compiler.kernels.raw_memory import array_elements, memory_at, wide_vectors
from engine.compiler.kernels.register_tiles import LANES, ROWS
from engine.compiler.kernels.thread_pool import CallWords

lanes, width = LANES[number], number.bitwidth // 8
multiply = tiled_matmul(number)
pad, transpose, unpad = padded_copies(number)


@machine_code("void(int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, float64, float64, int64)")
def kernel(
    call_address, settings_id, gradients, queries, keys, values, weights, of_queries, of_keys, of_values,
    of_first, of_second, workspace,
):  # fmt: skip
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
    pitch, broad, deep, block = settings[6], settings[7], settings[23], settings[24]
    at_query, at_key, at_value, at_g = settings + 8, settings + 11, settings + 14, settings + 17
    to_query, to_key, to_value = settings + 33, settings + 36, settings + 39
    transposed_values, rows_of_keys, rows_of_queries = workspace, workspace + settings[25], workspace + settings[26]
    rows_of_g, gradients_address, key_sums = (
        workspace + settings[27],
        workspace + settings[28],
        workspace + settings[29],
    )
    value_sums, result = workspace + settings[30], workspace + settings[31]
    score_gradients, products = memory_at(gradients_address, number, 1), memory_at(workspace + settings[32], number, 3)
    weight = array_elements(weights, number, 2)
    weights_address = array_address(weights)
    query, key, value, g = array_address(queries), array_address(keys), array_address(values), array_address(gradients)
    of_query, of_key, of_value = array_address(of_queries), array_address(of_keys), array_address(of_values)
    left_factor, right_factor = number(of_first), number(of_second)
    for head in range(first, last):
        b, h = head // heads, head % heads
        transpose(
            value + (b * at_value[0] + h * at_value[1]) * width, at_value[2], size, outer, transposed_values, pitch
        )
        pad(key + (b * at_key[0] + h * at_key[1]) * width, at_key[2], size, inner, rows_of_keys, deep)
        pad(query + (b * at_query[0] + h * at_query[1]) * width, at_query[2], length, inner, rows_of_queries, deep)
        pad(g + (b * at_g[0] + h * at_g[1]) * width, at_g[2], length, outer, rows_of_g, broad)
        own_weights = weights_address + head * length * size * width
        for begin in range(0, length, block):
            end = min(begin + block, length)
            for start in range(begin, end, ROWS):
                rows = min(ROWS, end - start)
                visible = min(start + rows, size) if causal else size
                here = gradients_address + (start - begin) * pitch * width
                multiply(
                    rows_of_g + start * broad * width, broad, 1, transposed_values, pitch, outer, here, pitch, rows,
                    (visible + lanes - 1) // lanes, 0,
                )  # fmt: skip
                for row in range(rows):
                    count = min(start + row + 1, size) if causal else size
                    own = score_gradients + (start - begin + row) * pitch
                    of_row = weight + (head * length + start + row) * size
                    for i in range(count):
                        products[i] = own[i] * of_row[i]
                    dot = lane_sum(products, count, 32)
                    for i in range(count):
                        own[i] = (own[i] - dot) * of_row[i]
                    for i in range(count, pitch):
                        own[i] = number(0.0)
                multiply(here, pitch, 1, rows_of_keys, deep, visible, result, deep, rows, deep // lanes, 0)
                to = of_query + (b * to_query[0] + h * to_query[1] + start * to_query[2]) * width
                unpad(result, deep, rows, inner, to, to_query[2], left_factor)
            reach = min(end, size) if causal else size
            adds = 1 if begin > 0 else 0
            for start in range(0, reach, ROWS):
                rows = min(ROWS, reach - start)
                top = max(begin, start) if causal else begin
                more = adds if not causal or start < begin else 0
                multiply(
                    gradients_address + ((top - begin) * pitch + start) * width, 1, pitch,
                    rows_of_queries + top * deep * width, deep, end - top, key_sums + start * deep * width, deep, rows,
                    deep // lanes, more,
                )  # fmt: skip
                multiply(
                    own_weights + (top * size + start) * width, 1, size, rows_of_g + top * broad * width, broad,
                    end - top, value_sums + start * broad * width, broad, rows, broad // lanes, more,
                )  # fmt: skip
        if causal:
            left, right = memory_at(key_sums, number, 4), memory_at(value_sums, number, 5)
            for i in range(min(length, size) * deep, size * deep):
                left[i] = number(0.0)
            for i in range(min(length, size) * broad, size * broad):
                right[i] = number(0.0)
        unpad(key_sums, deep, size, inner, of_key + (b * to_key[0] + h * to_key[1]) * width, to_key[2], right_factor)
        to = of_value + (b * to_value[0] + h * to_value[1]) * width
        unpad(value_sums, broad, size, outer, to, to_value[2], number(1.0))
