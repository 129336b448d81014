"""Fused groups as kernels for GPUs, run by CuPy or by the fake CuPy of the tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.backend import Device, namespace, to_host
from engine.compiler.ir import IRValue
from engine.compiler.kernels.cuda import CudaKernel
from tests.engine import fake_cupy
from tests.engine.compiler.kernels.groups import Group

CUDA = Device("cuda")


def kernel_of(group: Group, shape: Sequence[int], outputs: Sequence[IRValue], in_place: Any = ()) -> CudaKernel:
    """The kernel for arrays in the order of memory that they have."""
    fused = group.fused(shape, outputs, in_place)
    given = [group.arrays[value] for value in fused.inputs]
    strides = [tuple(step // array.itemsize for step in array.strides) for array in given]
    replaced = {output: strides[source] for output, source in in_place}
    return CudaKernel(fused, [*strides, *[replaced.get(index) for index in range(len(outputs))]], CUDA)


def run(group: Group, shape: Sequence[int], outputs: Sequence[IRValue]) -> list[Any]:
    """The outputs as the kernel computes them."""
    kernel = kernel_of(group, shape, outputs)
    given = [there(group.arrays[value]) for value in kernel.fused.inputs]
    found = [there(np.full(value.shape, 77, value.dtype)) for value in outputs]
    kernel(given, group.scalars, found)
    return [to_host(one) for one in found]


def there(array: Any) -> Any:
    """A copy of an array on the device, with its order of memory."""
    xp = namespace(CUDA)
    backwards = (*(slice(None, None, -1 if step < 0 else 1) for step in array.strides), ...)
    ahead = array[backwards]
    reach = 1 + sum((size - 1) * step // array.itemsize for size, step in zip(ahead.shape, ahead.strides, strict=True))
    memory = np.zeros(reach, array.dtype)
    np.lib.stride_tricks.as_strided(memory, ahead.shape, ahead.strides)[...] = ahead
    if xp.asarray is fake_cupy.asarray:
        return fake_cupy.ndarray(np.lib.stride_tricks.as_strided(memory, ahead.shape, ahead.strides)[backwards])
    return xp.lib.stride_tricks.as_strided(xp.asarray(memory), ahead.shape, ahead.strides)[backwards]
