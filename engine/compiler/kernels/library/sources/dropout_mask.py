"""Dropout masks by Philox4x64-10 (Salmon et al., 2011), with the bits of `engine.random`."""

from numba import int64, uint8, uint32, uint64

from engine.compiler.kernels.functions import wide_product
from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import run_parts
from engine.compiler.kernels.raw_memory import array_elements, memory_at
from engine.compiler.kernels.thread_pool import CallWords

ROUNDS = 10


@machine_code("void(int64, int64, uint64, uint64, uint64, uint64, int64)")
def kernel(call_address, results, seed, stream, offset, least, count):
    """For each of `count` elements, whether its half word is at least `least`."""
    call = memory_at(call_address, int64, 0)
    if call[CallWords.COUNT] != 0:
        run_parts(call_address, 0)
        return
    out = array_elements(results, uint8, 1)
    for block in range(call[CallWords.FIRST], call[CallWords.LAST]):
        a, b, c, d = offset + uint64(block + 1), uint64(0), uint64(0), uint64(0)
        b = uint64(1) if a <= offset else b
        first, second = seed, stream
        for _ in range(ROUNDS):
            one, low = wide_product(a, uint64(0xD2E7470EE14C6C93))
            two, other = wide_product(c, uint64(0xCA5A826395121157))
            a, b, c, d = two ^ b ^ first, other, one ^ d ^ second, low
            first, second = first + uint64(0x9E3779B97F4A7C15), second + uint64(0xBB67AE8584CAA73B)
        if block * 8 + 8 <= count:
            to = out + block * int64(8)
            to[0], to[1] = uint8(uint64(uint32(a)) >= least), uint8((a >> uint64(32)) >= least)
            to[2], to[3] = uint8(uint64(uint32(b)) >= least), uint8((b >> uint64(32)) >= least)
            to[4], to[5] = uint8(uint64(uint32(c)) >= least), uint8((c >> uint64(32)) >= least)
            to[6], to[7] = uint8(uint64(uint32(d)) >= least), uint8((d >> uint64(32)) >= least)
        else:
            for i in range(count - block * 8):
                word = a if i < 2 else b if i < 4 else c if i < 6 else d
                half = word >> uint64(32) if i % 2 == 1 else uint64(uint32(word))
                out[block * 8 + i] = uint8(half >= least)
