"""The matrix products behind convolution: over blocks, over few large windows, and for channels by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from engine.ops.spatial.blocks import Block, Scratch, blocks, columns, phases, pitches_of, read_places, write_places
from engine.ops.spatial.windows import Windows
from engine.shape import count

Sizes: TypeAlias = tuple[int, ...]

_ENOUGH_ROWS = 48
"""A matrix product of fewer rows than this costs more than the copies that give it all places of the kernel."""
_TOGETHER = 8
"""Channels with filters of their own that are computed at a time."""
_ENOUGH_PLACES = 64
"""Below this the samples of a 1×1 convolution are multiplied together, not one by one."""


def correlate(xp: Any, x: Any, weight: Any, bias: Any, windows: Windows, places: Sizes, groups: int) -> Any:
    """`convolution` at `places`, with zeros for what lies outside `x`."""
    inner, scratch = weight.shape[1], Scratch(xp, x.dtype)
    if inner == 1 and groups == weight.shape[0]:
        return _depthwise(xp, x, weight, bias, windows, places)
    lead = looped(windows, inner)
    leading, trailing = windows.split_kernel(lead)
    kernels = xp.moveaxis(weight.reshape(groups, -1, inner, *windows.kernel), 2, -1)
    kernels = kernels.transpose(*range(2, 2 + lead), 0, 1, *range(2 + lead, kernels.ndim))
    kernels = kernels.reshape(len(leading), groups, weight.shape[0] // groups, -1)
    out = xp.empty((x.shape[0], weight.shape[0], *places), x.dtype)
    for block in blocks(windows, x.shape[0], x.shape[2:], places, kernels[0, :, 0].size * x.dtype.itemsize):
        seen = columns(block, x, groups, trailing, block.reach(leading), scratch)
        product = scratch("product", *kernels.shape[1:3], block.total)
        found = product[..., : block.length]
        for number, (part, at) in enumerate(zip(kernels, leading, strict=True)):
            shift = block.seen_by(at)[1]
            target = scratch("more", *found.shape) if number else found
            xp.matmul(part, seen[..., shift : shift + block.length], out=target)
            if number:
                found += target
        if bias is not None:
            found += bias.reshape(groups, -1, 1)
        write_places(out, block, product)
    return out


def few_places(windows: Windows, sizes: Sizes, places: Sizes) -> bool:
    """Whether blocks would be gaps for the most part, and windows side by side are not much more than the input."""
    gaps = count(pitches_of(windows, sizes, places)) > 2 * count(places)
    return gaps and count(windows.kernel) * count(places) <= 4 * count(sizes)


def correlate_few(xp: Any, x: Any, weight: Any, bias: Any, windows: Windows, places: Sizes, groups: int) -> Any:
    """`convolution` with a column for each window and none for gaps."""
    seen = exact_columns(xp, x, windows, places, groups)
    out = xp.matmul(weight.reshape(groups, -1, seen.shape[1]), seen)
    if bias is not None:
        out += bias.reshape(groups, -1, 1)
    out = out.reshape(weight.shape[0], x.shape[0], *places)
    return xp.ascontiguousarray(out.swapaxes(0, 1))


def exact_columns(xp: Any, x: Any, windows: Windows, places: Sizes, groups: int) -> Any:
    """groups × (C/groups · places of the kernel) × (N · windows)."""
    padded = windows.padded(xp, x, places)
    out = xp.empty((x.shape[1], count(windows.kernel), x.shape[0], *places), x.dtype)
    for number, (_, seen) in enumerate(windows.offsets(places)):
        out[:, number] = padded[seen].swapaxes(0, 1)
    return out.reshape(groups, x.shape[1] // groups * count(windows.kernel), x.shape[0] * count(places))


def rows(g: Any, groups: int) -> Any:
    """N×O×places as groups × O/groups × (N · places)."""
    return g.swapaxes(0, 1).reshape(groups, g.shape[1] // groups, g.shape[0] * count(g.shape[2:]))


def _depthwise(xp: Any, x: Any, weight: Any, bias: Any, windows: Windows, places: Sizes) -> Any:
    """`correlate` of each channel with a filter of its own: sums of products, for which no matrix product is wide."""
    kernel, scratch = windows.offsets_in_kernel(), Scratch(xp, x.dtype)
    factors = weight.reshape(-1, len(kernel))
    out = xp.empty((x.shape[0], weight.shape[0], *places), x.dtype)
    for some, block in _depthwise_blocks(windows, x, places):
        flat, length = _flat(block, x[:, some], scratch), block.length
        product = scratch("product", flat.shape[1], block.total)
        found, more = product[:, :length], scratch("more", flat.shape[1], length)
        for number, at in enumerate(kernel):
            phase, shift = block.seen_by(at)
            seen, target = flat[phase, :, shift : shift + length], more if number else found
            xp.multiply(seen, factors[some, number, None], out=target)
            if number:
                found += more
        if bias is not None:
            found += bias[some, None]
        write_places(out[:, some], block, product)
    return out


def depthwise_weight(xp: Any, g: Any, x: Any, windows: Windows) -> Any:
    """`convolution_weight` where each channel has a filter of its own."""
    kernel, scratch = windows.offsets_in_kernel(), Scratch(xp, x.dtype)
    out = xp.zeros((g.shape[1], len(kernel)), g.dtype)
    for some, block in _depthwise_blocks(windows, x, g.shape[2:]):
        flat = _flat(block, x[:, some], scratch)
        upper = read_places(block, g[:, some], flat.shape[1], scratch)[:, 0]
        for number, at in enumerate(kernel):
            phase, shift = block.seen_by(at)
            out[some, number] += xp.einsum("cp,cp->c", upper, flat[phase, :, shift : shift + block.length])
    return out


def _depthwise_blocks(windows: Windows, x: Any, places: Sizes) -> Iterator[tuple[slice, Block]]:
    """Some channels at a time, so that their rows are long, and blocks of those."""
    for start in range(0, x.shape[1], _TOGETHER):
        some = slice(start, min(start + _TOGETHER, x.shape[1]))
        position_bytes = (count(windows.stride) + 2) * (some.stop - start) * x.dtype.itemsize
        for block in blocks(windows, x.shape[0], x.shape[2:], places, position_bytes):
            yield some, block


def _flat(block: Block, x: Any, scratch: Scratch) -> Any:
    """Phases × channels × positions."""
    long = max(block.total, block.length + block.reach(block.windows.offsets_in_kernel()))
    return phases(block, x, x.shape[1], long, scratch)[:, :, 0]


def looped(windows: Windows, inner: int) -> int:
    """Over how many leading dimensions of the kernel products are added up; the others are in the columns."""
    if max(windows.stride) > 1:
        return 0
    rows, lead = inner, len(windows.kernel)
    while lead and rows < _ENOUGH_ROWS:
        lead -= 1
        rows *= windows.kernel[lead]
    return min(lead, len(windows.kernel) - 1)


def pointwise(windows: Windows, places: Sizes) -> bool:
    """Whether it is a plain matrix product for each sample."""
    return max(windows.kernel) == 1 and not any(windows.padding) and count(places) >= _ENOUGH_PLACES


def every(x: Any, stride: Sizes) -> Any:
    return x[(..., *(slice(None, None, s) for s in stride))] if max(stride) > 1 else x


def wide(xp: Any, *arrays: Any) -> tuple[Any, ...]:
    """Half precision as single, in which sums are made."""
    return tuple(
        a if a is None or a.dtype.itemsize > 2 or a.dtype.kind in "iub" else a.astype(xp.float32) for a in arrays
    )
