"""Cross-correlation by matrix products on a `ConvolutionGrid`, and helpers of the convolution kernels."""

from __future__ import annotations

from typing import Any, TypeAlias

from engine.ops.matrix_products import matrix_product
from engine.ops.spatial.column_tiles import blocks
from engine.ops.spatial.convolution_grid import ConvolutionGrid
from engine.ops.spatial.im2col_blocks import ScratchBuffers, columns, write_product
from engine.ops.spatial.sliding_windows import SlidingWindows
from engine.shape import count

Sizes: TypeAlias = tuple[int, ...]

_MIN_POINTWISE_POSITIONS = 64
"""Minimum number of output positions for one matrix product per sample of a 1×1 convolution."""


def correlate(xp: Any, x: Any, weight: Any, bias: Any, grid: ConvolutionGrid) -> Any:
    """Kernel of `convolution` on a grid. Positions outside `x` are zero."""
    leading, trailing = len(grid.product_positions), len(grid.column_positions)
    kernels = weight.reshape(grid.groups, grid.outer, grid.inner, leading, trailing)
    kernels = xp.ascontiguousarray(xp.moveaxis(kernels, (3, 4), (0, 3)))
    kernels = kernels.reshape(leading, grid.groups, grid.outer, trailing * grid.inner)
    stacked = kernels.reshape(1, 1, -1, kernels.shape[-1]) if grid.groups == 1 else kernels
    scratch = ScratchBuffers(xp, x.dtype)
    allocate = xp.empty if grid.fills_output else xp.zeros
    out = allocate((x.shape[0], weight.shape[0], *grid.output_sizes), x.dtype)
    for samples, group_slice, tile in blocks(grid, x.shape[0], x.dtype.itemsize):
        column_matrix = columns(tile, x[samples, channel_slice(group_slice, grid.inner)], scratch)
        factors, output_channels = stacked[:, group_slice], channel_slice(group_slice, grid.outer)
        product = scratch("product", *factors.shape[:-1], column_matrix.shape[-1])
        matrix_product(xp, factors, column_matrix, out=product)
        product = product.reshape(leading, column_matrix.shape[0], grid.outer, -1)
        write_product(
            out[samples, output_channels], tile, product, None if bias is None else bias[output_channels], scratch
        )
    return out


def channel_slice(groups: slice, channels_per_group: int) -> slice:
    """The channels of a slice of groups."""
    return slice(groups.start * channels_per_group, groups.stop * channels_per_group)


def pointwise(windows: SlidingWindows, output_sizes: Sizes) -> bool:
    """Whether the convolution is computed as one matrix product for each sample: a 1×1 kernel without padding."""
    return max(windows.kernel) == 1 and not any(windows.padding) and count(output_sizes) >= _MIN_POINTWISE_POSITIONS


def strided(x: Any, stride: Sizes) -> Any:
    """View of every `stride`-th position of the spatial dimensions."""
    return x[(..., *(slice(None, None, s) for s in stride))] if max(stride) > 1 else x


def to_single(xp: Any, *arrays: Any) -> tuple[Any, ...]:
    """Arrays of half precision as float32, so that sums are computed in float32."""
    return tuple(
        a if a is None or a.dtype.itemsize > 2 or a.dtype.kind in "iub" else a.astype(xp.float32) for a in arrays
    )
