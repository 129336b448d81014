"""Multiplies blocks of a matrix product by BLAS, which uses one thread for each."""

from numba import float32 as number
from numba import int64

from engine.compiler.kernels.blas_calls import GEMM_WORDS, call_gemm
from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.parallel_calls import run_parts
from engine.compiler.kernels.raw_memory import memory_at
from engine.compiler.kernels.thread_pool import CallWords


@machine_code("void(int64, int64)")
def kernel(call_address, blocks):
    """Multiplies a range of blocks, whose words start at the address `blocks`."""
    call = memory_at(call_address, int64, 0)
    if call[CallWords.COUNT] != 0:
        run_parts(call_address, 0)
        return
    for block in range(call[CallWords.FIRST], call[CallWords.LAST]):
        call_gemm(blocks + block * GEMM_WORDS * 8, number)
