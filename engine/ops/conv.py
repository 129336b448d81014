"""Convolution over any number of spatial dimensions, as matrix products over unfolded windows.

`convolution`, its gradient for the input and its gradient for the weight are each linear in both arguments, so each
is the gradient of the others and derivatives of any order exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from engine.errors import ShapeError
from engine.ops.record import op
from engine.ops.rules import same_dtype
from engine.ops.windows import Windows, per_dim
from engine.shape import Spec, count, format_shape

Sizes: TypeAlias = tuple[int, ...]


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 3, 5, 6), s.normal(4, 3, 3, 3)), _options(2)),
    ((s.normal(2, 4, 6, 5), s.normal(4, 2, 3, 2)), _options(2, stride=2, padding=1, groups=2)),
    ((s.normal(1, 2, 7, 7), s.normal(3, 2, 2, 3)), _options(2, dilation=2, padding=(2, 1))),
    ((s.normal(2, 3, 8), s.normal(4, 3, 3)), _options(1, stride=2)),
    ((s.normal(1, 2, 4, 4, 3), s.normal(2, 2, 2, 2, 2)), _options(3)),
])  # fmt: skip
def convolution(xp, x, weight, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int):
    """Cross-correlation of N×C×… with O×(C/groups)×kernel…."""
    windows = Windows(weight.shape[2:], stride, padding, dilation)
    places = windows.places("convolution", x.shape[2:])
    padded = windows.padded(xp, x, places)
    kernels = weight.reshape(groups, weight.shape[0] // groups, -1)
    out = xp.empty((x.shape[0], groups, kernels.shape[1], count(places)), x.dtype)
    for some, columns in _columns(xp, padded, windows, places, groups):
        product = xp.matmul(kernels, columns).reshape(groups, kernels.shape[1], -1, count(places))
        out[some] = product.transpose(2, 0, 1, 3)
    return out.reshape(x.shape[0], weight.shape[0], *places)


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 4, 3, 3), s.normal(4, 3, 3, 3)), _options(2) | {"sizes": (5, 5)}),
    ((s.normal(1, 4, 3, 3), s.normal(4, 1, 3, 2)), _options(2, 2, 1, 1, 2) | {"sizes": (5, 4)}),
])  # fmt: skip
def convolution_input(xp, g, weight, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int):
    """The gradient of `convolution` for its input, whose spatial sizes are `sizes`."""
    windows = Windows(weight.shape[2:], stride, padding, dilation)
    batch, places, inner = g.shape[0], g.shape[2:], weight.shape[1]
    kernels = weight.reshape(groups, weight.shape[0] // groups, -1).swapaxes(1, 2)
    out = xp.zeros((batch, groups * inner, *windows.padded_sizes(sizes, places)), g.dtype)
    for some in _chunks(batch, groups * kernels.shape[1] * count(places) * g.dtype.itemsize):
        columns = xp.matmul(kernels, _grouped(g[some], groups))
        columns = columns.reshape(groups, inner, *windows.kernel, -1, *places)
        target = out[some].reshape(-1, groups, inner, *out.shape[2:])
        for at, seen in windows.offsets(places):
            target[(slice(None), *seen)] += xp.moveaxis(columns[(slice(None), slice(None), *at)], 2, 0)
    return windows.unpadded(out, sizes)


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 4, 3, 3), s.normal(2, 3, 5, 5)), _options(2) | {"kernel": (3, 3)}),
    ((s.normal(1, 4, 3, 3), s.normal(1, 2, 5, 4)), _options(2, 2, 1, 1, 2) | {"kernel": (3, 2)}),
])  # fmt: skip
def convolution_weight(xp, g, x, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int):
    """The gradient of `convolution` for its weight, whose spatial sizes are `kernel`."""
    windows = Windows(kernel, stride, padding, dilation)
    places = g.shape[2:]
    padded = windows.padded(xp, x, places)
    out = xp.zeros((groups, g.shape[1] // groups, x.shape[1] // groups * count(kernel)), g.dtype)
    for some, columns in _columns(xp, padded, windows, places, groups):
        out += xp.matmul(_grouped(g[some], groups), columns.swapaxes(1, 2))
    return out.reshape(g.shape[1], x.shape[1] // groups, *kernel)


# Unfolded windows are made for as many samples at a time as stay in the cache beside the product's other operands.
_CHUNK_BYTES = 1 << 21


def _chunks(batch: int, bytes_per_sample: int) -> Iterator[slice]:
    step = max(1, _CHUNK_BYTES // max(1, bytes_per_sample))
    return (slice(start, min(start + step, batch)) for start in range(0, batch, step))


def _columns(xp: Any, padded: Any, windows: Windows, places: Any, groups: int) -> Iterator[tuple[slice, Any]]:
    """For some samples after others, their windows as groups × (C/groups · kernel) × (samples · places)."""
    batch, inner = padded.shape[0], padded.shape[1] // groups
    size = groups * inner * count(windows.kernel) * count(places)
    for some in _chunks(batch, size * padded.dtype.itemsize):
        samples = padded[some]
        seen_by = samples.reshape(-1, groups, inner, *padded.shape[2:])
        columns = xp.empty((groups, inner, *windows.kernel, samples.shape[0], *places), padded.dtype)
        for at, seen in windows.offsets(places):
            columns[(slice(None), slice(None), *at)] = xp.moveaxis(seen_by[(slice(None), *seen)], 0, 2)
        yield some, columns.reshape(groups, inner * count(windows.kernel), -1)


def _grouped(g: Any, groups: int) -> Any:
    """N×O×places as groups × O/groups × (N · places)."""
    split = g.reshape(g.shape[0], groups, g.shape[1] // groups, -1)
    return split.transpose(1, 2, 0, 3).reshape(groups, g.shape[1] // groups, -1)


# -- rules ------------------------------------------------------------------------------------


@convolution.shape
def _(x: Spec, weight: Spec, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int):
    same_dtype("convolution", x, weight)
    if x.ndim != weight.ndim:
        raise ShapeError(
            f"convolution: the weight {format_shape(weight.shape)} needs an input of {weight.ndim} dimensions "
            f"(batch, channels, {weight.ndim - 2} spatial), not {format_shape(x.shape)}"
        )
    if x.shape[1] != weight.shape[1] * groups:
        raise ShapeError(
            f"convolution: the weight takes {weight.shape[1] * groups} channels, "
            f"but the input {format_shape(x.shape)} has {x.shape[1]}."
        )
    windows = Windows.of(weight.shape[2:], stride, padding, dilation, x.ndim - 2)
    return (x.shape[0], weight.shape[0], *windows.places("convolution", x.shape[2:]))


@convolution_input.shape
def _(g: Spec, weight: Spec, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int):
    return (g.shape[0], weight.shape[1] * groups, *sizes)


@convolution_weight.shape
def _(g: Spec, x: Spec, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int):
    return (g.shape[1], x.shape[1] // groups, *kernel)


@convolution.macs
def _(out: Spec, x: Spec, weight: Spec, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int):
    return count(out.shape) * count(weight.shape[1:])


# -- gradients --------------------------------------------------------------------------------


@convolution.gradient("x")
def _(g, x: Spec, weight, stride, padding, dilation, groups):
    return convolution_input(g, weight, x.shape[2:], stride, padding, dilation, groups)


@convolution.gradient("weight")
def _(g, x, weight: Spec, stride, padding, dilation, groups):
    return convolution_weight(g, x, weight.shape[2:], stride, padding, dilation, groups)


@convolution_input.gradient("g")
def _(upper, weight, stride, padding, dilation, groups):
    return convolution(upper, weight, stride, padding, dilation, groups)


@convolution_input.gradient("weight")
def _(upper, g, weight: Spec, stride, padding, dilation, groups):
    return convolution_weight(g, upper, weight.shape[2:], stride, padding, dilation, groups)


@convolution_weight.gradient("g")
def _(upper, x, stride, padding, dilation, groups):
    return convolution(x, upper, stride, padding, dilation, groups)


@convolution_weight.gradient("x")
def _(upper, g, x: Spec, stride, padding, dilation, groups):
    return convolution_input(g, upper, x.shape[2:], stride, padding, dilation, groups)


# -- PyTorch's front --------------------------------------------------------------------------


def _convolve(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, ndim: int) -> Any:
    dilation = per_dim(dilation, ndim)
    if groups < 1 or weight.shape[0] % groups:
        raise ShapeError(f"convolution: {weight.shape[0]} output channels do not divide into {groups} groups")
    same_dtype("convolution", x.spec, weight.spec, None if bias is None else bias.spec)
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise ShapeError(
            f"convolution: the weight gives {weight.shape[0]} channels, so the bias has {weight.shape[0]}, "
            f"not {format_shape(bias.shape)}"
        )
    out = convolution(x, weight, per_dim(stride, ndim), per_dim(padding, ndim), dilation, groups)
    return out if bias is None else out + bias.reshape(-1, *(1,) * ndim)


def conv1d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Convolution of N×C×L with O×(C/groups)×K."""
    return _convolve(x, weight, bias, stride, padding, dilation, groups, 1)


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Convolution of N×C×H×W with O×(C/groups)×KH×KW."""
    return _convolve(x, weight, bias, stride, padding, dilation, groups, 2)


def conv3d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Convolution of N×C×D×H×W with O×(C/groups)×KD×KH×KW."""
    return _convolve(x, weight, bias, stride, padding, dilation, groups, 3)


def _options(ndim: int, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> dict[str, Any]:
    sizes = {"stride": stride, "padding": padding, "dilation": dilation}
    return {name: per_dim(value, ndim) for name, value in sizes.items()} | {"groups": groups}
