"""Max and average pooling over any number of spatial dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import dtypes
from engine.errors import ShapeError
from engine.ops.record import op
from engine.ops.spatial.sliding_windows import SlidingWindows
from engine.shape import Spec, count, format_shape


@op("other", method=False, outputs=2, sample=lambda s: [
    ((s.distinct(2, 3, 6, 6),), {"windows": SlidingWindows.of(2, 2, 0, 1, 2)}),
    ((s.distinct(2, 2, 5, 7),), {"windows": SlidingWindows.of(3, 2, 1, 1, 2)}),
    ((s.distinct(1, 2, 7),), {"windows": SlidingWindows.of(2, 2, 0, 1, 1, True)}),
])  # fmt: skip
def max_pool_with_indices(xp, x, windows: SlidingWindows):
    """Maximum of each window and the number of its kernel position, the first of equal ones."""
    output_sizes = windows.output_sizes("max_pool", x.shape[2:])
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else False if x.dtype.kind == "b" else -np.inf
    padded = windows.padded(xp, x, output_sizes, lowest)
    best = number = None
    for k, (_, region) in enumerate(windows.offsets(output_sizes)):
        candidate = xp.ascontiguousarray(padded[region])
        if best is None or number is None:
            best, number = candidate.copy(), xp.zeros(candidate.shape, _counter(windows))
            continue
        wins = candidate > best
        if x.dtype.kind not in "iub":
            wins |= candidate != candidate  # NaN wins, as in PyTorch
        number += wins * (number.dtype.type(k) - number)  # unsigned numbers wrap around and back
        best = xp.where(wins, candidate, best)  # maximum() could return either of 0 and −0
    return best, number


@max_pool_with_indices.shape
def _(x: Spec, windows: SlidingWindows):
    _check("max_pool", x, windows)
    shape = (*x.shape[:2], *windows.output_sizes("max_pool", x.shape[2:]))
    return Spec(shape, x.dtype), Spec(shape, dtypes.from_numpy(_counter(windows)))


@max_pool_with_indices.gradient
def _(g, out1, x: Spec, windows):
    return window_scatter_add(g[0], out1, sizes=x.shape[2:], windows=windows)


def _counter(windows: SlidingWindows) -> np.dtype[Any]:
    """The smallest integer type for numbers of kernel positions."""
    return np.dtype(np.uint8 if count(windows.kernel) < 256 else np.int32)


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 3, 3, 3), s.integers(4, 2, 3, 3, 3)), {"sizes": (6, 6), "windows": SlidingWindows.of(2, 2, 0, 1, 2)}),
])  # fmt: skip
def window_scatter_add(xp, g, number, sizes: tuple[int, ...], windows: SlidingWindows):
    """Add each element of g to one element of its window, at kernel position `number`: `window_gather` transposed."""
    output_sizes = g.shape[2:]
    zero = g.dtype.type(0)
    out = xp.zeros((*g.shape[:2], *windows.padded_sizes(sizes, output_sizes)), g.dtype)
    for k, (_, region) in enumerate(windows.offsets(output_sizes)):
        if windows.overlap:
            out[region] += xp.where(number == k, g, zero)
        else:
            out[region] = xp.where(number == k, g, zero)
    return windows.unpadded(out, sizes)


@window_scatter_add.shape
def _(g: Spec, number: Spec, sizes: tuple[int, ...], windows: SlidingWindows):
    return Spec((*g.shape[:2], *sizes), g.dtype)


@window_scatter_add.gradient("g")
def _(upper, number, windows):
    return window_gather(upper, number, windows=windows)


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 3, 6, 6), s.integers(4, 2, 3, 3, 3)), {"windows": SlidingWindows.of(2, 2, 0, 1, 2)}),
])  # fmt: skip
def window_gather(xp, x, number, windows: SlidingWindows):
    """The element of each window at kernel position `number`."""
    output_sizes = number.shape[2:]
    padded = windows.padded(xp, x, output_sizes)
    out = xp.zeros(number.shape, x.dtype)
    for k, (_, region) in enumerate(windows.offsets(output_sizes)):
        xp.copyto(out, padded[region], where=number == k)
    return out


@window_gather.shape
def _(x: Spec, number: Spec, windows: SlidingWindows):
    return Spec(number.shape, x.dtype)


@window_gather.gradient("x")
def _(g, x: Spec, number, windows):
    return window_scatter_add(g, number, sizes=x.shape[2:], windows=windows)


@op("other", method=False, sample=lambda s: [
    ((s.integers(4, 2, 3, 3, 3),), {"sizes": (6, 6), "windows": SlidingWindows.of(2, 2, 0, 1, 2)}),
])  # fmt: skip
def flat_index(xp, number, sizes: tuple[int, ...], windows: SlidingWindows):
    """Convert numbers of kernel positions to indices into the flattened spatial dimensions."""
    output_sizes = number.shape[2:]
    index = xp.zeros(number.shape, np.int64)
    rest = number.astype(np.int64)
    for axis in range(len(sizes) - 1, -1, -1):
        rest, inside = xp.divmod(rest, windows.kernel[axis])
        shape = [1] * number.ndim
        shape[2 + axis] = output_sizes[axis]
        start = xp.arange(output_sizes[axis]).reshape(shape) * windows.stride[axis] - windows.padding[axis]
        index += (start + inside * windows.dilation[axis]) * count(sizes[axis + 1 :])
    return index


@flat_index.shape
def _(number: Spec, sizes: tuple[int, ...], windows: SlidingWindows):
    return Spec(number.shape, dtypes.int64)


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 3, 6, 6),), {"windows": SlidingWindows.of(2, 2, 0, 1, 2)}),
    ((s.normal(2, 2, 5, 7),), {"windows": SlidingWindows.of(3, 2, 1, 1, 2)}),
])  # fmt: skip
def sum_pool(xp, x, windows: SlidingWindows):
    """Sum of each window, with zero padding."""
    output_sizes = windows.output_sizes("avg_pool", x.shape[2:])
    padded = windows.padded(xp, x, output_sizes)
    out = xp.zeros((*x.shape[:2], *output_sizes), x.dtype)
    for _, region in windows.offsets(output_sizes):
        out += padded[region]
    return out


@sum_pool.shape
def _(x: Spec, windows: SlidingWindows):
    _check("avg_pool", x, windows)
    return (*x.shape[:2], *windows.output_sizes("avg_pool", x.shape[2:]))


@sum_pool.gradient
def _(g, x: Spec, windows):
    return sum_pool_backward(g, sizes=x.shape[2:], windows=windows)


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 3, 3, 3),), {"sizes": (6, 6), "windows": SlidingWindows.of(2, 2, 0, 1, 2)}),
])  # fmt: skip
def sum_pool_backward(xp, g, sizes: tuple[int, ...], windows: SlidingWindows):
    """Add each element of g to all elements of its window: `sum_pool` transposed."""
    output_sizes = g.shape[2:]
    out = xp.zeros((*g.shape[:2], *windows.padded_sizes(sizes, output_sizes)), g.dtype)
    for _, region in windows.offsets(output_sizes):
        out[region] += g
    return windows.unpadded(out, sizes)


@sum_pool_backward.shape
def _(g: Spec, sizes: tuple[int, ...], windows: SlidingWindows):
    return (*g.shape[:2], *sizes)


@sum_pool_backward.gradient
def _(g, windows):
    return sum_pool(g, windows=windows)


def _check(name: str, x: Spec, windows: SlidingWindows) -> None:
    if x.ndim != 2 + len(windows.kernel):
        raise ShapeError(
            f"{name}{len(windows.kernel)}d requires an input of {2 + len(windows.kernel)} dimensions "
            f"(batch, channels, {len(windows.kernel)} spatial), not {format_shape(x.shape)}."
        )
