"""im2col and its transpose, for `unfold` and `fold`."""

from __future__ import annotations

from engine.errors import ShapeError
from engine.ops.record import op
from engine.ops.spatial.sliding_windows import SlidingWindows
from engine.shape import Spec, count, format_shape


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 3, 5, 6),), {"windows": SlidingWindows.of(3, 2, 1, 1, 2)}),
    ((s.normal(1, 2, 7),), {"windows": SlidingWindows.of(2, 1, 0, 2, 1)}),
])  # fmt: skip
def im2col(xp, x, windows: SlidingWindows):
    """The elements of each window of N×C×…, as N×(C·kernel positions)×windows."""
    output_sizes = windows.output_sizes("unfold", x.shape[2:])
    padded = windows.padded(xp, x, output_sizes)
    out = xp.empty((*x.shape[:2], count(windows.kernel), *output_sizes), x.dtype)
    for number, (_, region) in enumerate(windows.offsets(output_sizes)):
        out[:, :, number] = padded[region]
    return out.reshape(x.shape[0], x.shape[1] * count(windows.kernel), count(output_sizes))


@im2col.shape
def _(x: Spec, windows: SlidingWindows):
    return x.shape[0], x.shape[1] * count(windows.kernel), count(windows.output_sizes("unfold", x.shape[2:]))


@im2col.gradient
def _(g, x: Spec, windows):
    return col2im(g, sizes=x.shape[2:], windows=windows)


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 27, 9),), {"sizes": (5, 6), "windows": SlidingWindows.of(3, 2, 1, 1, 2)}),
    ((s.normal(1, 4, 5),), {"sizes": (7,), "windows": SlidingWindows.of(2, 1, 0, 2, 1)}),
])  # fmt: skip
def col2im(xp, x, sizes: tuple[int, ...], windows: SlidingWindows):
    """Sum windows into an image: the transpose of `im2col`."""
    output_sizes = windows.output_sizes("fold", sizes)
    channels = x.shape[1] // count(windows.kernel)
    columns = x.reshape(x.shape[0], channels, count(windows.kernel), *output_sizes)
    out = xp.zeros((x.shape[0], channels, *windows.padded_sizes(sizes, output_sizes)), x.dtype)
    for number, (_, region) in enumerate(windows.offsets(output_sizes)):
        out[region] += columns[:, :, number]
    return xp.ascontiguousarray(windows.unpadded(out, sizes))


@col2im.shape
def _(x: Spec, sizes: tuple[int, ...], windows: SlidingWindows):
    number = count(windows.output_sizes("fold", sizes))
    if x.ndim != 3 or x.shape[1] % count(windows.kernel) or x.shape[2] != number:
        raise ShapeError(
            f"fold: output size {format_shape(sizes)} has {number} windows of {count(windows.kernel)} elements for "
            f"each channel, which does not match the input {format_shape(x.shape)}"
        )
    return (x.shape[0], x.shape[1] // count(windows.kernel), *sizes)


@col2im.gradient
def _(g, windows):
    return im2col(g, windows=windows)
