"""Windows as rows of a matrix, a block of the batch at a time: what convolution multiplies.

A block is some samples, or some rows of one, chosen so that what is made of it stays in the second-level cache. Its
padded input lies flat, channels × positions, with one gap of zeros between two rows that is the end of the one and
the beginning of the other. What a place of the kernel sees is then the same memory, shifted: a column of windows is
one copy of a long run, whatever the number of dimensions. Positions in the gaps are computed too, and dropped.
With a stride the input is split into phases (even and odd columns, for 2), each of which has stride 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.ops.spatial.windows import Windows
from engine.shape import count

_CACHE_BYTES = 1 << 20
"""Measured by benchmarks/convolution.py: 1 to 2 MiB are equally fast on a quiet core, less is on a shared one."""

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """The windows of `samples` whose first coordinate is from `start` to `start + places[0]`."""

    windows: Windows
    sizes: Sizes
    samples: slice
    start: int
    places: Sizes
    pitches: Sizes
    """How far apart rows, planes, … begin."""

    @property
    def batch(self) -> int:
        return self.samples.stop - self.samples.start

    @property
    def length(self) -> int:
        """Positions from the first window to the last."""
        last = self.batch - 1
        for pitch, place in zip(self.pitches, self.places, strict=True):
            last = last * pitch + place - 1
        return last + 1

    @property
    def total(self) -> int:
        return self.batch * count(self.pitches)

    def seen_by(self, at: Sequence[int]) -> tuple[int, int]:
        """What the place `at` of the kernel sees: the phase, and how far it is shifted."""
        phase = shift = 0
        sides = self.windows
        for i, d, s, pitch in zip(at, sides.dilation, sides.stride, self.pitches, strict=True):
            phase, shift = phase * s + i * d % s, shift * pitch + i * d // s
        return phase, shift

    def phases(self) -> Iterator[tuple[int, tuple[Any, ...], tuple[Any, ...]]]:
        """For each phase its number, its part of the input, and where that lies among the pitches."""
        for number, phase in enumerate(itertools.product(*map(range, self.windows.stride))):
            inputs: list[slice] = []
            here: list[slice] = []
            for axis, first in enumerate(phase):
                stride = self.windows.stride[axis]
                first += (self.start * stride if axis == 0 else 0) - self.windows.padding[axis]
                skipped = max(0, -(first // stride))
                first += skipped * stride
                length = min(self.pitches[axis] - skipped, -(-(self.sizes[axis] - first) // stride))
                if length < 1:
                    break
                inputs.append(slice(first, first + (length - 1) * stride + 1, stride))
                here.append(slice(skipped, skipped + length))
            else:
                yield number, tuple(inputs), tuple(here)

    def reach(self, kernel: Sequence[Sequence[int]]) -> int:
        """The furthest shift of some places of the kernel."""
        return max(self.seen_by(at)[1] for at in kernel)


def pitches_of(windows: Windows, sizes: Sizes, places: Sizes) -> Sizes:
    """How far apart rows, planes, … begin in a whole sample."""
    return tuple(
        max(n, -(-(size + p) // s), ((n - 1) * s + (k - 1) * d - p) // s + 1)
        for n, size, p, s, k, d in zip(
            places, sizes, windows.padding, windows.stride, windows.kernel, windows.dilation, strict=True
        )
    )


def blocks(windows: Windows, batch: int, sizes: Sizes, places: Sizes, position_bytes: int) -> Iterator[Block]:
    """A batch in blocks that take about the cache each, at `position_bytes` a position."""
    pitches = pitches_of(windows, sizes, places)
    row = count(pitches[1:]) * position_bytes
    samples = _CACHE_BYTES // max(1, row * pitches[0])
    if samples:
        for start, stop in _even(batch, samples):
            yield Block(windows, sizes, slice(start, stop), 0, places, pitches)
        return
    halo = (windows.kernel[0] - 1) * windows.dilation[0] // windows.stride[0]
    for sample in range(batch):
        for start, stop in _even(places[0], max(1, halo, _CACHE_BYTES // row - halo)):
            rows = stop - start
            part = (rows, *places[1:])
            yield Block(windows, sizes, slice(sample, sample + 1), start, part, (rows + halo, *pitches[1:]))


def _even(total: int, most: int) -> Iterator[tuple[int, int]]:
    """`total` in as few parts of at most `most` as there can be, about equal."""
    parts = -(-total // most)
    return ((total * i // parts, total * (i + 1) // parts) for i in range(parts))


class Scratch:
    """Arrays that blocks use one after the other, by name."""

    def __init__(self, xp: Any, dtype: Any) -> None:
        self._xp, self._dtype = xp, dtype
        self._arrays: dict[str, Any] = {}

    def __call__(self, name: str, *shape: int) -> Any:
        size = count(shape)
        found = self._arrays.get(name)
        if found is None or found.size < size:
            found = self._arrays[name] = self._xp.empty(size, self._dtype)
        return found[:size].reshape(shape)


def phases(block: Block, x: Any, groups: int, long: int, scratch: Scratch, out: Any = None) -> Any:
    """N×C×… flat: phases × groups × C/groups × `long` positions, with zeros in the gaps; in `out` if that is given."""
    inner, number_of_phases = x.shape[1] // groups, count(block.windows.stride)
    out = scratch("phases", number_of_phases, groups, inner, long) if out is None else out
    out[...] = 0
    for number, taken, here in block.phases():
        seen = x[(block.samples, slice(None), *taken)]
        target = out[number, :, :, : block.total].reshape(groups, inner, block.batch, *block.pitches)
        target[(..., *here)] = seen.reshape(seen.shape[0], groups, inner, *seen.shape[2:]).transpose(
            1, 2, 0, *range(3, 1 + seen.ndim)
        )
    return out


def columns(block: Block, x: Any, groups: int, kernel: Sequence[Sequence[int]], room: int, scratch: Scratch) -> Any:
    """groups × (places in `kernel` · channels) × positions of N×C×…, and `room` positions beyond the last window."""
    inner, wide = x.shape[1] // groups, block.length + room
    long = max(block.total, wide + block.reach(kernel))
    out = scratch("columns", groups, len(kernel), inner, long)
    one = count(block.windows.stride) == 1  # then what the first place sees is the input itself
    flat = phases(block, x, groups, long, scratch, out[:, 0][None] if one else None)
    for number in range(1 if one else 0, len(kernel)):
        phase, shift = block.seen_by(kernel[number])
        out[:, number, :, :wide] = flat[phase, :, :, shift : shift + wide]
    return out.reshape(groups, len(kernel) * inner, long)


def add_columns(out: Any, block: Block, found: Any, groups: int, scratch: Scratch) -> None:
    """The transpose of `columns` for all places of the kernel: adds up what they saw, into `out`."""
    kernel = block.windows.offsets_in_kernel()
    inner = out.shape[1] // groups
    found = found.reshape(groups, len(kernel), inner, -1)
    long = max(block.total, block.length + block.reach(kernel))
    flat = scratch("phases", count(block.windows.stride), groups, inner, long)
    flat[...] = 0
    for number, at in enumerate(kernel):
        phase, shift = block.seen_by(at)
        flat[phase, :, :, shift : shift + block.length] += found[:, number]
    for number, taken, here in block.phases():
        source = flat[number, :, :, : block.total].reshape(groups * inner, block.batch, *block.pitches)
        out[(block.samples, slice(None), *taken)] += source[(slice(None), slice(None), *here)].swapaxes(0, 1)


def read_places(block: Block, g: Any, groups: int, scratch: Scratch) -> Any:
    """N×O×places as groups × O/groups × positions, with zeros in the gaps."""
    out = scratch("places", g.shape[1], block.batch, *block.pitches)
    out[...] = 0
    out[(..., *map(slice, block.places))] = g[_where(block)].swapaxes(0, 1)
    return out.reshape(groups, g.shape[1] // groups, -1)[:, :, : block.length]


def write_places(out: Any, block: Block, product: Any) -> None:
    """The transpose of `read_places`: takes what lies at windows, and drops what lies in the gaps."""
    found = product.reshape(out.shape[1], block.batch, *block.pitches)[(..., *map(slice, block.places))]
    out[_where(block)] = found.swapaxes(0, 1)


def _where(block: Block) -> tuple[slice, ...]:
    return (block.samples, slice(None), slice(block.start, block.start + block.places[0]))
