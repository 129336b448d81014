"""CUDA C++ of a kernel. The source depends on dtypes and steps, but not on sizes."""

from __future__ import annotations

import numpy as np

from engine.compiler.kernels.cuda import translate_functions
from engine.compiler.kernels.cuda.column_reductions import ColumnReductionWriter, PartialSumWriter
from engine.compiler.kernels.cuda.cuda_module import CudaModule, CudaSource, KernelSpec
from engine.compiler.kernels.cuda.elementwise_launch import ElementwiseWriter
from engine.compiler.kernels.cuda.launch_planning import LaunchKind, plan_launches
from engine.compiler.kernels.cuda.launch_writer import LaunchWriter
from engine.compiler.kernels.cuda.row_reductions import RowBlockWriter, RowReductionWriter

MAX_INT32_EXTENT = 1 << 30
"""Largest count or step for 32-bit indices, with room for the last iteration of a loop."""


_WRITERS: dict[LaunchKind, type[LaunchWriter]] = {
    "elements": ElementwiseWriter,
    "rows": RowReductionWriter,
    "blocks": RowBlockWriter,
    "columns": ColumnReductionWriter,
    "totals": PartialSumWriter,
}


def source_of(spec: KernelSpec) -> CudaSource:
    """Writes a kernel. Raises LoweringUnsupported."""
    module = CudaModule(spec)
    launches = plan_launches(spec.schedule, spec.program.space, tuple(spec.in_place.items()))
    found = [_WRITERS[launch.kind](module, launch, number).write() for number, launch in enumerate(launches)]
    wide = _max_extent(spec) >= MAX_INT32_EXTENT
    calls = translate_functions.definitions(module.text.functions)
    blocks = [*calls, *module.helpers.values(), *(text for text, _ in found)]
    include = ["#include <cuda_fp16.h>"] if "half" in module.text.functions else []
    text = "\n".join([
        f"// {spec.title}", *include, f"typedef {'long long' if wide else 'int'} Index;", "",
        "namespace kernels {", "",
        *[line for block in blocks for line in (block, "")], "}", "",
    ])  # fmt: skip
    index = np.dtype(np.int64 if wide else np.int32)
    return CudaSource(text, tuple(function for _, function in found), tuple(module.memory), index)


def _max_extent(spec: KernelSpec) -> int:
    """The largest count or step."""
    sizes = [1]
    for size in spec.program.space:
        sizes[0] *= size
    values = [*spec.program.inputs, *[value for _, value in spec.program.outputs]]
    for value, steps in zip(values, spec.strides, strict=True):
        sizes.append(sum((size - 1) * abs(step) for size, step in zip(value.shape, steps, strict=True)))
    return max(sizes)


__all__ = ["source_of"]
