"""Attention: scores, their softmax and what it weighs, for some queries of one head after the other."""

from numba import float32 as number
from numba import int64

from engine.compiler.kernels.blocked_matmul import address, copies, products
from engine.compiler.kernels.functions import added, exp32, exp64, larger
from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import shared
from engine.compiler.kernels.raw_memory import elements, memory, wide_vectors
from engine.compiler.kernels.register_tiles import LANES, ROWS
from engine.compiler.kernels.thread_pool import CallWords

lanes, width = LANES[number], number.bitwidth // 8
multiply = products(number)
padded, turned, back = copies(number)
exp = exp64 if number.bitwidth == 64 else exp32


@machine_code("void(int64, int64, int64, int64, int64, int64, int64, float64, int64)")
def kernel(share, told, queries, keys, values, results, weights, scale, place):
    """Heads. `told` are the settings of an `Attention`, `place` memory of each thread."""
    wide_vectors()
    call = memory(share, int64, 0)
    if call[CallWords.COUNT] != 0:
        shared(share, place)
        return
    first, last, place = call[CallWords.FIRST], call[CallWords.LAST], call[CallWords.PLACE]
    settings = elements(told, int64, 0)
    heads, length, size, inner, outer, causal = (
        settings[0], settings[1], settings[2], settings[3], settings[4], settings[5]
    )  # fmt: skip
    pitch, broad = settings[6], settings[7]
    of_query, of_key, of_value, of_result = settings + 8, settings + 11, settings + 14, settings + 17
    turned_keys, rows_of_values = place, place + settings[20]
    scored, result = place + settings[21], place + settings[22]
    scores = memory(scored, number, 1)
    weight = elements(weights, number, 2)
    query, key, value, out = address(queries), address(keys), address(values), address(results)
    factor = number(scale)
    for head in range(first, last):
        b, h = head // heads, head % heads
        turned(key + (b * of_key[0] + h * of_key[1]) * width, of_key[2], size, inner, turned_keys, pitch)
        padded(value + (b * of_value[0] + h * of_value[1]) * width, of_value[2], size, outer, rows_of_values, broad)
        here = query + (b * of_query[0] + h * of_query[1]) * width
        for start in range(0, length, ROWS):
            rows = min(ROWS, length - start)
            seen = min(start + rows, size) if causal else size
            multiply(
                here + start * of_query[2] * width, of_query[2], 1, turned_keys, pitch, inner, scored, pitch, rows,
                (seen + lanes - 1) // lanes, 0,
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
                share = number(1.0) / added(own, count, 32)
                to = weight + (head * length + start + row) * size
                for i in range(count):
                    own[i] = own[i] * share
                for i in range(count, seen):
                    own[i] = number(0.0)
                for i in range(seen):
                    to[i] = own[i]
                for i in range(seen, size):
                    to[i] = number(0.0)
            multiply(scored, pitch, 1, rows_of_values, broad, seen, result, broad, rows, broad // lanes, 0)
            to = out + (b * of_result[0] + h * of_result[1] + start * of_result[2]) * width
            back(result, broad, rows, outer, to, of_result[2], number(1.0))
