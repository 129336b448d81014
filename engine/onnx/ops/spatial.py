"""Translators of convolution, pooling, folding and resampling."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.onnx.graph_builder import GraphBuilder, Value
from engine.onnx.ops.reductions import reduce_over
from engine.onnx.translators import NotExpressible, translates
from engine.ops.spatial.resample import ResampleTable
from engine.ops.spatial.sliding_windows import SlidingWindows
from engine.shape import Dim, Spec, count

_GATHERED_TERMS = 4
"""With more terms, resampling is a matrix product."""


@translates("convolution")
def _(g, x, weight, bias, stride, padding, dilation, groups: int):
    return g.op(
        "Conv", x, weight, bias,
        strides=list(stride), pads=[*padding, *padding], dilations=list(dilation), group=groups,
        kernel_shape=list(g.spec(weight).shape[2:]),
    )  # fmt: skip


@translates("convolution_transpose")
def _(g, x, weight, sizes, stride, padding, dilation, groups: int):
    return _transposed(g, x, weight, sizes, stride, padding, dilation, groups)


def _transposed(
    g: GraphBuilder, x: Value, weight: Value, sizes: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Value:
    kernel = g.spec(weight).shape[2:]
    extra = [
        size - ((n - 1) * s - 2 * p + d * (k - 1) + 1)
        for size, n, s, p, d, k in zip(sizes, g.spec(x).shape[2:], stride, padding, dilation, kernel, strict=True)
    ]
    if any(isinstance(each, Dim) or each < 0 for each in extra):
        raise NotExpressible("the output size of a transposed convolution cannot be computed from the input size")
    return g.op(
        "ConvTranspose", x, weight,
        strides=list(stride), pads=[*padding, *padding], dilations=list(dilation), group=groups,
        kernel_shape=list(kernel), output_padding=extra,
    )  # fmt: skip


def window_pads(windows: SlidingWindows, sizes: Any, outputs: Any) -> list[int]:
    """Padding at the start and the end of each dimension, with what the last windows of ceil mode need."""
    after = list(windows.padding)
    if windows.ceil_mode:
        for axis, (size, n) in enumerate(zip(sizes, outputs, strict=True)):
            if isinstance(size, Dim):
                raise NotExpressible("ceil_mode with a symbolic size")
            reach = (n - 1) * windows.stride[axis] + windows.dilation[axis] * (windows.kernel[axis] - 1) + 1
            after[axis] = max(reach - size - windows.padding[axis], 0)
    return [*windows.padding, *after]


@translates("max_pool_with_indices")
def _(g, x, windows: SlidingWindows):
    pooled = g.op(
        "MaxPool", x,
        kernel_shape=list(windows.kernel), strides=list(windows.stride), dilations=list(windows.dilation),
        pads=window_pads(windows, g.spec(x).shape[2:], g.result.shape[2:]),
    )  # fmt: skip
    return pooled, None


@translates("sum_pool")
def _(g, x, windows: SlidingWindows):
    mean = g.op(
        "AveragePool", x,
        kernel_shape=list(windows.kernel), strides=list(windows.stride), count_include_pad=1,
        pads=window_pads(windows, g.spec(x).shape[2:], g.result.shape[2:]),
    )  # fmt: skip
    return g.op("Mul", mean, float(count(windows.kernel)))


def _one_for_each_position(g: GraphBuilder, channels: int, windows: SlidingWindows, like: Value) -> Value:
    """Filters of a grouped convolution that copy one element of the window each."""
    positions = count(windows.kernel)
    filters = np.tile(np.eye(positions, dtype=g.dtype(like).numpy), (channels, 1))
    return g.constant(filters.reshape(channels * positions, 1, *windows.kernel))


@translates("im2col")
def _(g, x, windows: SlidingWindows):
    spec = g.spec(x)
    channels = spec.shape[1]
    found = g.op(
        "Conv", x, _one_for_each_position(g, channels, windows, x),
        strides=list(windows.stride), pads=[*windows.padding, *windows.padding], dilations=list(windows.dilation),
        group=channels, kernel_shape=list(windows.kernel),
    )  # fmt: skip
    g.describe(found, Spec((*g.result.shape[:2], *windows.output_sizes("unfold", spec.shape[2:])), spec.dtype))
    return g.reshape(found, g.result.shape)


@translates("col2im")
def _(g, x, sizes, windows: SlidingWindows):
    """The transpose of `im2col`. ONNX's Col2Im is wrong for one dimension in onnxruntime."""
    outputs = windows.output_sizes("fold", sizes)
    channels = g.result.shape[1]
    columns = g.reshape(x, (*g.spec(x).shape[:2], *outputs))
    weight = _one_for_each_position(g, channels, windows, x)
    return _transposed(g, columns, weight, sizes, windows.stride, windows.padding, windows.dilation, channels)


@translates("resample")
def _(g, x, dim: int, table: ResampleTable):
    spec = g.spec(x)
    axis = dim % spec.ndim
    index, weight = table.index, table.weight
    terms, results = index.shape
    if results == 1 and len(set(index[:, 0])) == table.size and np.allclose(weight, 1 / terms):
        return reduce_over(g, "ReduceMean", x, (axis,), True)
    if terms > _GATHERED_TERMS:
        return _matrix_product(g, x, axis, table)
    along = [1] * spec.ndim
    along[axis] = results
    total: Any = None
    for elements, factors in zip(index, weight, strict=True):
        term = g.op("Gather", x, g.constant(elements.astype(np.int64)), axis=axis)
        if (factors != 1).any():
            term = g.op("Mul", term, g.constant(factors.astype(spec.dtype.numpy).reshape(along)))
        total = term if total is None else g.op("Add", total, term)
    return total


def _matrix_product(g: GraphBuilder, x: Value, axis: int, table: ResampleTable) -> Value:
    spec = g.spec(x)
    matrix = np.zeros((table.size, table.index.shape[1]))
    np.add.at(matrix, (table.index, np.arange(table.index.shape[1])), table.weight)
    last = [each for each in range(spec.ndim) if each != axis] + [axis]
    product = g.op("MatMul", g.transpose(x, last), g.constant(matrix.astype(spec.dtype.numpy)))
    back = [last.index(each) for each in range(spec.ndim)]
    return g.op("Transpose", product, perm=back)
