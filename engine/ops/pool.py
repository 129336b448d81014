"""Max and average pooling over any number of spatial dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import dtypes
from engine.errors import ShapeError
from engine.ops.record import op
from engine.ops.windows import Windows, per_dim
from engine.shape import Spec, count, format_shape


@op("other", method=False, outputs=2, sample=lambda s: [
    ((s.distinct(2, 3, 6, 6),), {"windows": Windows.of(2, 2, 0, 1, 2)}),
    ((s.distinct(2, 2, 5, 7),), {"windows": Windows.of(3, 2, 1, 1, 2)}),
    ((s.distinct(1, 2, 7),), {"windows": Windows.of(2, 2, 0, 1, 1, True)}),
])  # fmt: skip
def max_windows(xp, x, windows: Windows):
    """The maximum of each window, and the number of the place in the kernel that holds it: the first of equals."""
    places = windows.places("max_pool", x.shape[2:])
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else False if x.dtype.kind == "b" else -np.inf
    padded = windows.padded(xp, x, places, lowest)
    best = number = None
    for k, (_, seen) in enumerate(windows.offsets(places)):
        candidate = xp.ascontiguousarray(padded[seen])
        if best is None or number is None:
            best, number = candidate.copy(), xp.zeros(candidate.shape, _counter(windows))
            continue
        wins = candidate > best
        if x.dtype.kind not in "iub":
            wins |= candidate != candidate  # NaN wins, as in PyTorch
        number += wins * (number.dtype.type(k) - number)  # unsigned numbers wrap around and back
        xp.maximum(best, candidate, out=best)
    return best, number


@max_windows.shape
def _(x: Spec, windows: Windows):
    _check("max_pool", x, windows)
    shape = (*x.shape[:2], *windows.places("max_pool", x.shape[2:]))
    return Spec(shape, x.dtype), Spec(shape, dtypes.from_numpy(_counter(windows)))


@max_windows.gradient
def _(g, out1, x: Spec, windows):
    return spread_picked(g[0], out1, sizes=x.shape[2:], windows=windows)


def _counter(windows: Windows) -> np.dtype[Any]:
    """The smallest type that counts the places of a kernel."""
    return np.dtype(np.uint8 if count(windows.kernel) < 256 else np.int32)


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 3, 3, 3), s.integers(4, 2, 3, 3, 3)), {"sizes": (6, 6), "windows": Windows.of(2, 2, 0, 1, 2)}),
])  # fmt: skip
def spread_picked(xp, g, number, sizes: tuple[int, ...], windows: Windows):
    """Each number added to the one element of its window that `number` names: the transpose of `pick`."""
    places = g.shape[2:]
    out = xp.zeros((*g.shape[:2], *windows.padded_sizes(sizes, places)), g.dtype)
    for k, (_, seen) in enumerate(windows.offsets(places)):
        if windows.overlap:
            out[seen] += g * (number == k)
        else:
            xp.multiply(g, number == k, out=out[seen])
    return windows.unpadded(out, sizes)


@spread_picked.shape
def _(g: Spec, number: Spec, sizes: tuple[int, ...], windows: Windows):
    return Spec((*g.shape[:2], *sizes), g.dtype)


@spread_picked.gradient("g")
def _(upper, number, windows):
    return pick(upper, number, windows=windows)


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 3, 6, 6), s.integers(4, 2, 3, 3, 3)), {"windows": Windows.of(2, 2, 0, 1, 2)}),
])  # fmt: skip
def pick(xp, x, number, windows: Windows):
    """From each window the element that `number` names."""
    places = number.shape[2:]
    padded = windows.padded(xp, x, places)
    out = xp.zeros(number.shape, x.dtype)
    for k, (_, seen) in enumerate(windows.offsets(places)):
        xp.copyto(out, padded[seen], where=number == k)
    return out


@pick.shape
def _(x: Spec, number: Spec, windows: Windows):
    return Spec(number.shape, x.dtype)


@pick.gradient("x")
def _(g, x: Spec, number, windows):
    return spread_picked(g, number, sizes=x.shape[2:], windows=windows)


@op("other", method=False, sample=lambda s: [
    ((s.integers(4, 2, 3, 3, 3),), {"sizes": (6, 6), "windows": Windows.of(2, 2, 0, 1, 2)}),
])  # fmt: skip
def flat_index(xp, number, sizes: tuple[int, ...], windows: Windows):
    """From "which place of the kernel" to "which element of the flattened spatial dimensions"."""
    places = number.shape[2:]
    index = xp.zeros(number.shape, np.int64)
    rest = number.astype(np.int64)
    for axis in range(len(sizes) - 1, -1, -1):
        rest, inside = xp.divmod(rest, windows.kernel[axis])
        shape = [1] * number.ndim
        shape[2 + axis] = places[axis]
        start = xp.arange(places[axis]).reshape(shape) * windows.stride[axis] - windows.padding[axis]
        index += (start + inside * windows.dilation[axis]) * count(sizes[axis + 1 :])
    return index


@flat_index.shape
def _(number: Spec, sizes: tuple[int, ...], windows: Windows):
    return Spec(number.shape, dtypes.int64)


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 3, 6, 6),), {"windows": Windows.of(2, 2, 0, 1, 2)}),
    ((s.normal(2, 2, 5, 7),), {"windows": Windows.of(3, 2, 1, 1, 2)}),
])  # fmt: skip
def sum_windows(xp, x, windows: Windows):
    """The sum of each window; what lies in the padding counts as 0."""
    places = windows.places("avg_pool", x.shape[2:])
    padded = windows.padded(xp, x, places)
    out = xp.zeros((*x.shape[:2], *places), x.dtype)
    for _, seen in windows.offsets(places):
        out += padded[seen]
    return out


@sum_windows.shape
def _(x: Spec, windows: Windows):
    _check("avg_pool", x, windows)
    return (*x.shape[:2], *windows.places("avg_pool", x.shape[2:]))


@sum_windows.gradient
def _(g, x: Spec, windows):
    return spread_windows(g, sizes=x.shape[2:], windows=windows)


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 3, 3, 3),), {"sizes": (6, 6), "windows": Windows.of(2, 2, 0, 1, 2)}),
])  # fmt: skip
def spread_windows(xp, g, sizes: tuple[int, ...], windows: Windows):
    """Each number added to every element of its window: the transpose of `sum_windows`."""
    places = g.shape[2:]
    out = xp.zeros((*g.shape[:2], *windows.padded_sizes(sizes, places)), g.dtype)
    for _, seen in windows.offsets(places):
        out[seen] += g
    return windows.unpadded(out, sizes)


@spread_windows.shape
def _(g: Spec, sizes: tuple[int, ...], windows: Windows):
    return (*g.shape[:2], *sizes)


@spread_windows.gradient
def _(g, windows):
    return sum_windows(g, windows=windows)


def _check(name: str, x: Spec, windows: Windows) -> None:
    if x.ndim != 2 + len(windows.kernel):
        raise ShapeError(
            f"{name}{len(windows.kernel)}d needs {2 + len(windows.kernel)} dimensions "
            f"(batch, channels, {len(windows.kernel)} spatial), not {format_shape(x.shape)}."
        )
    if any(2 * p > k for p, k in zip(windows.padding, windows.kernel, strict=True)):
        raise ShapeError(
            f"{name}: padding {format_shape(windows.padding)} is more than half of "
            f"the kernel {format_shape(windows.kernel)}"
        )


# -- PyTorch's front --------------------------------------------------------------------------


def max_pool(
    x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, return_indices: bool, ndim: int
) -> Any:
    windows = Windows.of(kernel_size, kernel_size if stride is None else stride, padding, dilation, ndim, ceil_mode)
    values, number = max_windows(x, windows=windows)
    return (values, flat_index(number, sizes=tuple(x.shape[2:]), windows=windows)) if return_indices else values


def avg_pool(
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
    ndim: int,
) -> Any:
    windows = Windows.of(kernel_size, kernel_size if stride is None else stride, padding, 1, ndim, ceil_mode)
    total = sum_windows(x, windows=windows)
    if divisor is not None:
        return total / divisor
    if not ceil_mode and (count_include_pad or not any(windows.padding)):
        return total / count(windows.kernel)
    return total / _members(x, windows, count_include_pad)


def _members(x: Any, windows: Windows, count_include_pad: bool) -> Any:
    """How many elements each window averages over, 1×1×places."""
    sizes = tuple(x.shape[2:])
    ones = x[:1, :1] * 0 + 1
    if not count_include_pad:
        return sum_windows(ones.detach(), windows=windows)
    for axis, padding in enumerate(windows.padding):
        ones = ones.pad_with_zeros(2 + axis, padding, padding)
    ones = ones * 0 + 1
    inner = Windows(windows.kernel, windows.stride, per_dim(0, len(sizes)), windows.dilation, windows.ceil_mode)
    members = sum_windows(ones.detach(), windows=inner)
    places = windows.places("avg_pool", sizes)
    return members[(slice(None), slice(None), *(slice(0, n) for n in places))]


def max_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maximum over windows of N×C×L."""
    return max_pool(x, kernel_size, stride, padding, dilation, ceil_mode, return_indices, 1)


def max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maximum over windows of N×C×H×W."""
    return max_pool(x, kernel_size, stride, padding, dilation, ceil_mode, return_indices, 2)


def avg_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """Mean over windows of N×C×L."""
    return avg_pool(x, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1)


def avg_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """Mean over windows of N×C×H×W."""
    return avg_pool(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 2)


def adaptive_avg_pool2d(x: Any, output_size: Any) -> Any:
    """Mean over H×W windows chosen so that the result is `output_size`; None keeps a size."""
    if x.ndim != 4:
        raise ShapeError(
            f"adaptive_avg_pool2d needs 4 dimensions (batch, channels, height, width), not {format_shape(x.shape)}."
        )
    wanted = [size if want is None else want for want, size in zip(per_dim(output_size, 2), x.shape[2:], strict=True)]
    sizes = x.shape[2:]
    if any(want < 1 for want in wanted):
        raise ShapeError(f"adaptive_avg_pool2d: the output size must be at least 1, not {format_shape(wanted)}")
    if all(size % want == 0 for size, want in zip(sizes, wanted, strict=True)):
        return avg_pool2d(x, tuple(size // want for size, want in zip(sizes, wanted, strict=True)))
    rows = x.new_tensor(averaging_matrix(sizes[0], wanted[0]))
    columns = x.new_tensor(averaging_matrix(sizes[1], wanted[1]))
    return rows @ x @ columns.mT


def averaging_matrix(size: int, places: int) -> Any:
    """places × size: row i averages elements ⌊i·size/places⌋ up to ⌈(i+1)·size/places⌉."""
    matrix = np.zeros((places, size))
    for i in range(places):
        start, end = i * size // places, -(-(i + 1) * size // places)
        matrix[i, start:end] = 1 / (end - start)
    return matrix
