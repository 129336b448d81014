"""The matrix products behind convolution: block by block on a grid, or one a sample where the kernel is 1×1."""

from __future__ import annotations

from typing import Any, TypeAlias

from engine.ops.spatial.column_tiles import blocks
from engine.ops.spatial.convolution_grid import ConvolutionGrid
from engine.ops.spatial.im2col_blocks import ScratchBuffers, columns, write_product
from engine.ops.spatial.sliding_windows import SlidingWindows
from engine.shape import count

Sizes: TypeAlias = tuple[int, ...]

_ENOUGH_PLACES = 64
"""Below this the samples of a 1×1 convolution are multiplied together, not one by one."""


def correlate(xp: Any, x: Any, weight: Any, bias: Any, grid: ConvolutionGrid) -> Any:
    """`convolution` on a grid, with zeros for what lies outside `x`."""
    leading, trailing = len(grid.in_product), len(grid.in_columns)
    kernels = weight.reshape(grid.groups, grid.outer, grid.inner, leading, trailing)
    kernels = xp.ascontiguousarray(xp.moveaxis(kernels, (3, 4), (0, 3)))
    kernels = kernels.reshape(leading, grid.groups, grid.outer, trailing * grid.inner)
    tall = kernels.reshape(1, 1, -1, kernels.shape[-1]) if grid.groups == 1 else kernels
    scratch = ScratchBuffers(xp, x.dtype)
    make = xp.empty if grid.fills_output else xp.zeros
    out = make((x.shape[0], weight.shape[0], *grid.output_sizes), x.dtype)
    for some, these, part in blocks(grid, x.shape[0], x.dtype.itemsize):
        seen = columns(part, x[some, channels(these, grid.inner)], scratch)
        factors, upper = tall[:, these], channels(these, grid.outer)
        product = scratch("product", *factors.shape[:-1], seen.shape[-1])
        xp.matmul(factors, seen, out=product)
        product = product.reshape(leading, seen.shape[0], grid.outer, -1)
        write_product(out[some, upper], part, product, None if bias is None else bias[upper], scratch)
    return out


def channels(groups: slice, each: int) -> slice:
    """Those of some groups."""
    return slice(groups.start * each, groups.stop * each)


def pointwise(windows: SlidingWindows, output_sizes: Sizes) -> bool:
    """Whether it is a plain matrix product for each sample."""
    return max(windows.kernel) == 1 and not any(windows.padding) and count(output_sizes) >= _ENOUGH_PLACES


def every(x: Any, stride: Sizes) -> Any:
    return x[(..., *(slice(None, None, s) for s in stride))] if max(stride) > 1 else x


def wide(xp: Any, *arrays: Any) -> tuple[Any, ...]:
    """Half precision as single, in which sums are made."""
    return tuple(
        a if a is None or a.dtype.itemsize > 2 or a.dtype.kind in "iub" else a.astype(xp.float32) for a in arrays
    )
