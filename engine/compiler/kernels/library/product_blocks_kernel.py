"""Shares the blocks of matrix products between threads, in eager mode as well as in plans."""

from __future__ import annotations

import functools
from typing import Any

from engine.compiler.kernels.kernel_cache import KernelModule
from engine.compiler.kernels.library.routines import background_kernel, start_thread_pool
from engine.compiler.kernels.thread_pool import call_words
from engine.ops.product_blocks import run_in_order, set_block_runner
from engine.system.config import get_num_threads


def run_blocks(blocks: Any, dtype: Any, nanoseconds: float) -> None:
    """Multiply blocks in all threads; in this thread while the kernel compiles, which gives the same bits."""
    kernel = _module(dtype).function if get_num_threads() > 1 else None
    if kernel is None:
        run_in_order(blocks, dtype)
        return
    start_thread_pool()
    call = call_words(len(blocks), nanoseconds)
    kernel(call.ctypes.data, blocks.ctypes.data)


@functools.cache
def _module(dtype: Any) -> KernelModule:
    return background_kernel("multiply_blocks", dtype)


set_block_runner(run_blocks)

__all__ = ["run_blocks"]
