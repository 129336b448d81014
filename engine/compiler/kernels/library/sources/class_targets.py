"""Checks class targets, and replaces ignored ones by class 0."""

from numba import int64, uint8

from engine.compiler.kernels.machine_code import machine_code
from engine.compiler.kernels.raw_memory import array_elements


@machine_code("void(int64, int64, int64, int64, int64, int64, int64)")
def kernel(targets, valid, classes, found, size, ignored, count):
    """Computes which targets are not ignored, and their classes. `found` is the number of targets that are no class."""
    x, kept, out = array_elements(targets, int64, 1), array_elements(valid, uint8, 2), array_elements(classes, int64, 3)
    invalid = 0
    for i in range(size):
        is_kept = x[i] != ignored
        one = x[i] if is_kept else int64(0)
        kept[i], out[i] = uint8(is_kept), one
        if one < 0 or one >= count:
            invalid += 1
    array_elements(found, int64, 4)[0] = invalid
