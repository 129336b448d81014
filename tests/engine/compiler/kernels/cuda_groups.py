"""Fused groups as kernels for GPUs, run by the stand-in for CuPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.backend import Device
from engine.compiler.graph import Value
from engine.compiler.kernels.cuda import Kernel
from tests.engine import fake_cupy
from tests.engine.compiler.kernels.groups import Group


def kernel_of(group: Group, shape: Sequence[int], outputs: Sequence[Value], in_place: Any = ()) -> Kernel:
    """The kernel for arrays in the order of memory that they have."""
    fused = group.fused(shape, outputs, in_place)
    given = [group.arrays[value] for value in fused.inputs]
    strides = [tuple(step // array.itemsize for step in array.strides) for array in given]
    replaced = {output: strides[source] for output, source in in_place}
    return Kernel(fused, [*strides, *[replaced.get(place) for place in range(len(outputs))]], Device("cuda"))


def run(group: Group, shape: Sequence[int], outputs: Sequence[Value]) -> list[Any]:
    """The outputs as the kernel computes them."""
    kernel = kernel_of(group, shape, outputs)
    kernel.wait()
    given = [fake_cupy.ndarray(group.arrays[value]) for value in kernel.fused.inputs]
    found = [np.full(value.shape, 77, value.dtype) for value in outputs]
    kernel(given, group.scalars, [fake_cupy.ndarray(one) for one in found])
    return found
