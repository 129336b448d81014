"""Convolution over any number of spatial dimensions, as products on the grid of `engine.ops.spatial.convolution_grid`.

`convolution`, its input gradient and its weight gradient are linear in both arguments, and the gradients of each are
the other two. So derivatives of any order exist. The input gradient is PyTorch's transposed convolution.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from engine.errors import ShapeError
from engine.ops.matrix_products import matrix_product
from engine.ops.record import op
from engine.ops.shape_rules import same_dtype
from engine.ops.spatial.column_tiles import blocks
from engine.ops.spatial.convolution_grid import ConvolutionGrid, cheapest
from engine.ops.spatial.correlation import channel_slice, correlate, pointwise, strided, to_single
from engine.ops.spatial.im2col_blocks import ScratchBuffers, columns, rows
from engine.ops.spatial.sliding_windows import SlidingWindows, per_dim
from engine.shape import Spec, count, format_shape

Sizes: TypeAlias = tuple[int, ...]


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 3, 5, 6), s.normal(4, 3, 3, 3), s.normal(4)), _options(2)),
    ((s.normal(2, 4, 6, 5), s.normal(4, 2, 3, 2), None), _options(2, stride=2, padding=1, groups=2)),
    ((s.normal(1, 2, 7, 7), s.normal(3, 2, 2, 3), None), _options(2, dilation=2, padding=(2, 1))),
    ((s.normal(2, 3, 8), s.normal(4, 3, 3), s.normal(4)), _options(1, stride=2)),
    ((s.normal(1, 2, 4, 4, 3), s.normal(2, 2, 2, 2, 2), None), _options(3)),
    ((s.normal(2, 4, 5, 5), s.normal(6, 2, 1, 1), s.normal(6)), _options(2, stride=2, groups=2)),
    ((s.normal(2, 2, 9, 8), s.normal(2, 2, 1, 1), s.normal(2)), _options(2)),
    ((s.normal(0, 2, 5), s.normal(2, 2, 3), None), _options(1)),
])  # fmt: skip
def convolution(
    xp, x, weight, bias=None, stride: Sizes = (1,), padding: Sizes = (0,), dilation: Sizes = (1,), groups: int = 1
):
    """Cross-correlation of N×C×… with O×(C/groups)×kernel…, plus a bias per output channel."""
    if x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise ValueError("the channels do not fit")  # the shape rule reports the details
    windows = SlidingWindows(weight.shape[2:], stride, padding, dilation)
    output_sizes = windows.output_sizes("convolution", x.shape[2:])
    dtype, (x, weight, bias) = x.dtype, to_single(xp, x, weight, bias)
    if not pointwise(windows, output_sizes):
        grid = cheapest(
            ConvolutionGrid(windows, x.shape[2:], output_sizes, weight.shape[1], weight.shape[0] // groups, groups)
        )
        return correlate(xp, x, weight, bias, grid).astype(dtype, copy=False)
    inputs = strided(x, stride).reshape(x.shape[0], groups, weight.shape[1], count(output_sizes))
    out = matrix_product(xp, weight.reshape(groups, -1, weight.shape[1]), inputs)
    out = out.reshape(x.shape[0], weight.shape[0], count(output_sizes))
    if bias is not None:
        out += bias.reshape(-1, 1)
    return out.reshape(x.shape[0], weight.shape[0], *output_sizes).astype(dtype, copy=False)


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 4, 3, 3), s.normal(4, 3, 3, 3)), _options(2) | {"sizes": (5, 5)}),
    ((s.normal(1, 4, 3, 3), s.normal(4, 1, 3, 2)), _options(2, 2, 1, 1, 2) | {"sizes": (5, 4)}),
    ((s.normal(1, 4, 4, 7), s.normal(4, 2, 1, 3)), _options(2, 1, 1, 2) | {"sizes": (2, 9)}),
    ((s.normal(2, 4, 9, 8), s.normal(4, 2, 1, 1)), _options(2, 2, groups=2) | {"sizes": (18, 15)}),
])  # fmt: skip
def convolution_transpose(xp, g, weight, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int):
    """Gradient of `convolution` with respect to its input of spatial sizes `sizes`."""
    windows = SlidingWindows(weight.shape[2:], stride, padding, dilation)
    batch, output_sizes, inner = g.shape[0], g.shape[2:], weight.shape[1]
    dtype, (g, weight) = g.dtype, to_single(xp, g, weight)
    if pointwise(windows, output_sizes):
        out = xp.zeros((batch, groups * inner, *sizes), g.dtype)
        split = g.reshape(batch, groups, g.shape[1] // groups, count(output_sizes))
        product = matrix_product(xp, weight.reshape(groups, -1, inner).swapaxes(1, 2), split)
        strided(out, stride)[(..., *map(slice, output_sizes))] = product.reshape(batch, groups * inner, *output_sizes)
    else:
        flipped = weight.reshape(groups, -1, inner, *windows.kernel).swapaxes(1, 2)
        flipped = flipped[(..., *(slice(None, None, -1),) * len(windows.kernel))]
        grid = cheapest(
            ConvolutionGrid(windows.transposed, output_sizes, sizes, g.shape[1] // groups, inner, groups),
            is_transposed=True,
        )
        out = correlate(xp, g, flipped.reshape(groups * inner, -1, *windows.kernel), None, grid)
    return out.astype(dtype, copy=False)


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 4, 3, 3), s.normal(2, 3, 5, 5)), _options(2) | {"kernel": (3, 3)}),
    ((s.normal(1, 4, 3, 3), s.normal(1, 2, 5, 4)), _options(2, 2, 1, 1, 2) | {"kernel": (3, 2)}),
    ((s.normal(2, 4, 9, 8), s.normal(2, 4, 17, 16)), _options(2, 2, groups=2) | {"kernel": (1, 1)}),
])  # fmt: skip
def convolution_backward_weight(xp, g, x, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int):
    """Gradient of `convolution` with respect to its weight of spatial sizes `kernel`."""
    windows = SlidingWindows(kernel, stride, padding, dilation)
    output_sizes, outer, inner = g.shape[2:], g.shape[1] // groups, x.shape[1] // groups
    dtype, (g, x) = g.dtype, to_single(xp, g, x)
    if pointwise(windows, output_sizes):
        out = xp.zeros((groups, outer, inner), g.dtype)
        for gradient_rows, inputs in zip(g, strided(x, stride)[(..., *map(slice, output_sizes))], strict=True):
            out += matrix_product(
                xp, gradient_rows.reshape(groups, outer, -1), inputs.reshape(groups, inner, -1).swapaxes(1, 2)
            )
        return out.reshape(-1, inner, *kernel).astype(dtype, copy=False)
    grid, scratch = (
        cheapest(ConvolutionGrid(windows, x.shape[2:], output_sizes, inner, outer, groups)),
        ScratchBuffers(xp, g.dtype),
    )
    trailing, leading = len(grid.column_positions), len(grid.product_positions)
    out = xp.zeros((groups, trailing * inner, leading * outer), g.dtype)
    for samples, group_slice, tile in blocks(grid, x.shape[0], x.dtype.itemsize):
        column_matrix = columns(tile, x[samples, channel_slice(group_slice, inner)], scratch)
        gradient_rows = rows(tile, g[samples, channel_slice(group_slice, outer)], scratch)
        out[group_slice] += matrix_product(xp, column_matrix, gradient_rows.swapaxes(1, 2))
    out = xp.moveaxis(out.reshape(groups, trailing, inner, leading, outer), (4, 2, 3), (1, 2, 3))
    return xp.ascontiguousarray(out).reshape(-1, inner, *kernel).astype(dtype, copy=False)


# -- rules ------------------------------------------------------------------------------------


@convolution.shape
def _(x: Spec, weight: Spec, bias: Spec | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int):
    same_dtype("convolution", x, weight, bias)
    if x.ndim != weight.ndim:
        raise ShapeError(
            f"convolution: the weight {format_shape(weight.shape)} requires an input of {weight.ndim} dimensions "
            f"(batch, channels, {weight.ndim - 2} spatial), not {format_shape(x.shape)}"
        )
    if x.shape[1] != weight.shape[1] * groups:
        raise ShapeError(
            f"convolution: the weight expects {weight.shape[1] * groups} channels, "
            f"but the input {format_shape(x.shape)} has {x.shape[1]}."
        )
    windows = SlidingWindows.of(weight.shape[2:], stride, padding, dilation, x.ndim - 2)
    return (x.shape[0], weight.shape[0], *windows.output_sizes("convolution", x.shape[2:]))


@convolution_transpose.shape
def _(g: Spec, weight: Spec, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int):
    return (g.shape[0], weight.shape[1] * groups, *sizes)


@convolution_backward_weight.shape
def _(g: Spec, x: Spec, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int):
    return (g.shape[1], x.shape[1] // groups, *kernel)


@convolution.macs
def _(out: Spec, x: Spec, weight: Spec, bias: Spec | None, **_: Any):
    return count(out.shape) * count(weight.shape[1:])


@convolution_transpose.macs
def _(out: Spec, g: Spec, weight: Spec, **_: Any):
    return count(g.shape) * count(weight.shape[1:])


@convolution_backward_weight.macs
def _(out: Spec, g: Spec, x: Spec, **_: Any):
    return count(g.shape) * count(out.shape[1:])


# -- gradients --------------------------------------------------------------------------------


@convolution.gradient("x")
def _(g, x: Spec, weight, stride, padding, dilation, groups):
    return convolution_transpose(g, weight, x.shape[2:], stride, padding, dilation, groups)


@convolution.gradient("weight")
def _(g, x, weight: Spec, stride, padding, dilation, groups):
    return convolution_backward_weight(g, x, weight.shape[2:], stride, padding, dilation, groups)


@convolution.gradient("bias")
def _(g):
    return g.sum((0, *range(2, g.ndim)))


@convolution_transpose.gradient("g")
def _(upper, g: Spec, weight, stride, padding, dilation, groups):
    return _crop(convolution(upper, weight, None, stride, padding, dilation, groups), g)


@convolution_transpose.gradient("weight")
def _(upper, g, weight: Spec, stride, padding, dilation, groups):
    return convolution_backward_weight(g, upper, weight.shape[2:], stride, padding, dilation, groups)


@convolution_backward_weight.gradient("g")
def _(upper, g: Spec, x, stride, padding, dilation, groups):
    return _crop(convolution(x, upper, None, stride, padding, dilation, groups), g)


@convolution_backward_weight.gradient("x")
def _(upper, g, x: Spec, stride, padding, dilation, groups):
    return convolution_transpose(g, upper, x.shape[2:], stride, padding, dilation, groups)


def _crop(x: Any, spec: Spec) -> Any:
    """`x` cropped to the sizes of `spec`: a larger input than needed gives further positions."""
    for dim in range(2, x.ndim):
        if x.shape[dim] != spec.shape[dim]:
            x = x.narrow(dim, 0, spec.shape[dim])
    return x


# -- samples --------------------------------------------------------------------------------


def _options(ndim: int, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> dict[str, Any]:
    sizes = {"stride": stride, "padding": padding, "dilation": dilation}
    return {name: per_dim(value, ndim) for name, value in sizes.items()} | {"groups": groups}
