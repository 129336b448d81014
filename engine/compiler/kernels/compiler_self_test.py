"""A small kernel that is compiled, loaded and run before the first real one, to find out whether numba still fits.

It runs in the compile process, so that a crash does not end the program.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from engine.compiler.kernels.object_code import ObjectCode, load_function
from engine.system.self_test import SelfTest

SOURCE = """
from numba import float64, int64

from engine.compiler.kernels.functions import exp64, lane_sum
from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.raw_memory import array_elements, stack_array, wide_vectors


@machine_code("void(int64, float64, int64)")
def kernel(source, factor, target):
    wide_vectors()
    x, out = array_elements(source, float64, 1), array_elements(target, float64, 2)
    block = stack_array(32, float64, 3)
    for i in range(32):
        block[i] = x[i] * factor
    out[0] = lane_sum(block, 32, 32)
    for i in range(1, 32):
        out[i] = exp64(-block[i])
"""


def compiler_self_test(compile_source: Callable[[str, str], ObjectCode]) -> SelfTest:
    """The self-test of a function that compiles source code."""

    def check() -> None:
        """Raises an exception unless a compiled kernel gives the results of NumPy."""
        function = load_function(compile_source(SOURCE, "<self-test>"))
        source, target = np.arange(32.0), np.zeros(32)
        function(id(source), 0.25, id(target))
        expected = np.exp(-0.25 * source)
        expected[0] = 124.0
        if not np.allclose(target, expected, rtol=1e-14, atol=0):
            raise RuntimeError("a compiled kernel computes other numbers than NumPy")

    title = f"Compiled kernels by numba {_version('numba')} and llvmlite {_version('llvmlite')}"
    return SelfTest(
        check, title, "NumPy computes the same results, more slowly. Install a numba version that Gradwire allows."
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


__all__ = ["SOURCE", "compiler_self_test"]
