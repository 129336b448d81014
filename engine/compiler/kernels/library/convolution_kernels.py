"""Convolution of images and sequences, with both gradients."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from engine.compiler.ir import IRNode
from engine.compiler.kernels.library.routines import FLOATS, Routine, implements, library_kernel
from engine.compiler.kernels.thread_pool import aligned, call_words, workspace
from engine.ops.spatial.conv import convolution, convolution_backward_weight, convolution_transpose
from engine.shape import count

_CACHE_BYTES = 1 << 18
"""Bytes of input planes that are processed together, to stay in the level-2 cache."""
_BLOCK_BYTES = 3 << 17
"""Bytes of operands of one blocked product."""
_LINE = 16
"""Numbers in the widest vector."""
_MAX_ROWS, _DOT_ROWS, _DOT_COLUMNS = 8, 4, 6
"""Maximum tile sizes."""
_MAX_TILE_BYTES = 192
"""Maximum bytes of the sums of a tile: 24 vectors in double precision."""
_PARTS = 4
"""Number of partial sums over samples, which threads share."""
_MAX_PARTS = 8
"""Maximum number of parts otherwise, because each part packs the weight."""
_NANOSECONDS = 0.02
"""Estimated nanoseconds per multiply-add."""
_MIN_CHANNELS = 4
"""Minimum number of channels per group; fewer would leave tiles empty."""


class KernelTap(NamedTuple):
    """A kernel position in one dimension: it reads the input plane `phase`, shifted by `shift`."""

    kernel_index: int
    phase: int
    shift: int


class OutputPhase(NamedTuple):
    """Every `step`-th output position from `first` on, in one dimension, with the kernel positions that contribute to
    it.
    """

    first: int
    step: int
    output_size: int
    taps: tuple[KernelTap, ...]


@dataclass(frozen=True, slots=True)
class ConvolutionAxis:
    """One dimension of a convolution."""

    size: int
    phases: int
    jobs: tuple[OutputPhase, ...]

    @property
    def shifts(self) -> tuple[int, int]:
        """The smallest and the largest shift."""
        shifts = [tap.shift for job in self.jobs for tap in job.taps] or [0]
        return min(shifts), max(shifts)

    @property
    def output_size(self) -> int:
        """Output size of the largest phase."""
        return max(job.output_size for job in self.jobs)


def forward_axis(size: int, kernel: int, stride: int, padding: int, dilation: int, outputs: int) -> ConvolutionAxis:
    """The forward direction: every `stride`-th element of the input is in one plane."""
    offsets = [index * dilation - padding for index in range(kernel)]
    taps = tuple(KernelTap(index, offset % stride, offset // stride) for index, offset in enumerate(offsets))
    return ConvolutionAxis(size, stride, (OutputPhase(0, 1, outputs, taps),))


def backward_axis(size: int, kernel: int, stride: int, padding: int, dilation: int, outputs: int) -> ConvolutionAxis:
    """The gradient for the input: each phase of the input uses some of the kernel positions."""
    jobs: list[OutputPhase] = []
    for first in range(min(stride, size)):
        offsets = [(index, first + padding - index * dilation) for index in range(kernel)]
        taps = tuple(KernelTap(index, 0, offset // stride) for index, offset in offsets if offset % stride == 0)
        jobs.append(OutputPhase(first, stride, -(-(size - first) // stride), taps))
    return ConvolutionAxis(outputs, 1, tuple(jobs))


class PlaneLayout:
    """Layout of the channels of a group as padded planes, in bands of rows."""

    def __init__(self, down: ConvolutionAxis, across: ConvolutionAxis, channels: int, itemsize: int) -> None:
        self.down, self.across, self.channels = down, across, channels
        least, most = across.shifts
        width = -(-across.size // across.phases)
        self.pitch = max(width - min(least, 0), across.output_size + max(most, 0))
        self.margin = max(0, -least)
        self.low, self.high = down.shifts
        self.low, self.high = min(self.low, self.high), max(self.low, self.high)
        self.phases = down.phases * across.phases
        self.rows = down.output_size
        row = channels * self.phases * self.pitch * itemsize
        room = max(_CACHE_BYTES // row - (self.high - self.low), 4 * (self.high - self.low), 1)
        self.bands = -(-self.rows // room)
        self.band = -(-self.rows // self.bands)
        self.bands = -(-self.rows // self.band)
        extent = self.margin + (self.band + self.high - self.low) * self.pitch + max(most, 0) + 2 * _LINE
        self.length = padded_size(extent)

    @property
    def size(self) -> int:
        """Numbers in all planes of a group."""
        return self.channels * self.phases * self.length

    def offset(self, channel: int, down: KernelTap, across: KernelTap) -> int:
        """Offset of the element that a kernel position reads for the first output of a band."""
        plane = channel * self.phases + down.phase * self.across.phases + across.phase
        return plane * self.length + self.margin + (down.shift - self.low) * self.pitch + across.shift

    def settings(self, groups: int, outer: int) -> list[int]:
        return [
            groups, self.channels, outer, self.down.size, self.across.size, self.down.phases, self.across.phases,
            self.pitch, self.length, self.low, self.high, self.margin, self.band, self.rows,
        ]  # fmt: skip


def padded_size(size: int) -> int:
    """A size rounded up to an odd number of cache lines, to avoid conflicts in one cache set."""
    lines = -(-size // _LINE)
    return (lines + 1 - lines % 2) * _LINE


class ConvolutionRoutine:
    """A convolution or its gradient for the input.

    Args:
        strides: of the weight in elements, for group, output channel and input channel
    """

    def __init__(
        self, down: ConvolutionAxis, across: ConvolutionAxis, groups: int, inner: int, outer: int,
        sizes: tuple[int, int], kernel_sizes: tuple[int, int], strides: tuple[int, int, int], batch: int, dtype: Any,
    ) -> None:  # fmt: skip
        planes = PlaneLayout(down, across, inner, dtype.itemsize)
        jobs: list[int] = []
        offsets: list[int] = []
        sources: list[int] = []
        group_stride, channel_stride, input_stride = strides
        for y, x in itertools.product(down.jobs, across.jobs):
            begin = len(offsets)
            for channel, one, two in itertools.product(range(inner), y.taps, x.taps):
                offsets.append(planes.offset(channel, one, two))
                sources.append(channel * input_stride + one.kernel_index * kernel_sizes[1] + two.kernel_index)
            jobs += [len(offsets) - begin, begin, y.output_size, x.output_size, y.first, x.first, y.step, x.step]
        run = padded_size(planes.band * planes.pitch)
        packed = planes.size * dtype.itemsize
        product = packed + aligned(groups * (outer + _MAX_ROWS) * len(offsets) * dtype.itemsize)
        self._bytes = product + aligned(_MAX_ROWS * run * dtype.itemsize)
        first = 26 + len(jobs)
        self._settings = np.array([
            *planes.settings(groups, outer), len(jobs) // 8, *sizes, channel_stride, group_stride, len(offsets), run,
            packed, product, first, first + len(offsets), 26, *jobs, *offsets, *sources,
        ])  # fmt: skip
        self._zeros = np.zeros(groups * outer, dtype)
        work = batch * groups * outer * sum(jobs[at] * jobs[at + 2] * jobs[at + 3] for at in range(0, len(jobs), 8))
        self._bytes = aligned(self._bytes)
        self._call = call_words(batch, work * _NANOSECONDS, workspace_bytes=self._bytes, max_parts=_MAX_PARTS)
        self._address = self._call.ctypes.data
        self._kernel = library_kernel("convolve", dtype)

    def __call__(self, x: Any, weight: Any, bias: Any, out: Any) -> None:
        bias = self._zeros if bias is None else bias
        arrays = id(self._settings), id(x), id(weight), id(bias), id(out)
        self._kernel(self._address, *arrays, workspace(self._bytes))


class ConvolutionWeightBackward:
    """The gradient of a convolution for its weight."""

    def __init__(
        self, down: ConvolutionAxis, across: ConvolutionAxis, groups: int, inner: int, outer: int,
        kernel_sizes: tuple[int, int], batch: int, dtype: Any,
    ) -> None:  # fmt: skip
        planes = PlaneLayout(down, across, inner, dtype.itemsize)
        lanes = 64 // dtype.itemsize
        run = -(-planes.band * planes.pitch // lanes) * lanes
        tall = -(-outer // _DOT_ROWS) * _DOT_ROWS
        each = (planes.size + tall * run) * dtype.itemsize
        units = batch * planes.bands
        parts = min(units, _PARTS)
        block_units = max(1, min(_BLOCK_BYTES // each, -(-units // parts)))
        taps = itertools.product(range(inner), down.jobs[0].taps, across.jobs[0].taps)
        offsets = [planes.offset(*tap) for tap in taps]
        sums = len(offsets)
        tiles = (outer + _DOT_ROWS) * (sums + _DOT_COLUMNS) // 4 + 1
        upper = aligned(block_units * planes.size * dtype.itemsize)
        # Lines are copied in whole vectors, so the last one needs padding.
        sums_offset = upper + aligned((block_units * tall * run + lanes) * dtype.itemsize)
        g_offsets = sums_offset + tiles * _MAX_TILE_BYTES
        x_offsets = g_offsets + aligned(block_units * (run // lanes) * 8)
        self._bytes = x_offsets + aligned(block_units * (run // lanes) * 8)
        self._settings = np.array([
            *planes.settings(groups, outer), across.output_size, planes.bands, block_units, sums, run, upper,
            sums_offset, g_offsets, x_offsets, 27, parts, units, groups * outer * sums, *offsets, *[0] * _DOT_COLUMNS,
        ])  # fmt: skip
        self._sums = np.empty((parts, groups * outer * sums), dtype)
        work = units * planes.band * across.output_size * self._sums[0].size
        self._bytes = aligned(self._bytes)
        self._call = call_words(parts, work * _NANOSECONDS, workspace_bytes=self._bytes)
        self._address = self._call.ctypes.data
        self._kernel = library_kernel("convolve_weight_backward", dtype)

    def __call__(self, g: Any, x: Any, out: Any) -> None:
        arrays = id(self._settings), id(x), id(g)
        self._kernel(self._address, *arrays, self._sums.ctypes.data, workspace(self._bytes))
        flat = out.reshape(-1)
        np.copyto(flat, self._sums[0])
        for part in self._sums[1:]:
            np.add(flat, part, out=flat)


# -- nodes ------------------------------------------------------------------------------------


def _fits(node: IRNode, channels: int) -> bool:
    dtype, dims = node.out.dtype, len(node.out.shape)
    return dtype in FLOATS and 3 <= dims <= 4 and channels >= _MIN_CHANNELS


def _sizes(shape: Sequence[int]) -> tuple[int, int]:
    """Height and width; a sequence has height 1."""
    return (1, shape[2]) if len(shape) == 3 else (shape[2], shape[3])


def _windows(node: IRNode, kernel_sizes: tuple[int, int]) -> list[tuple[int, int, int, int]]:
    """Kernel size, stride, padding and dilation in both dimensions."""
    settings = [tuple(node.statics[name]) for name in ("stride", "padding", "dilation")]
    if len(settings[0]) == 1:
        settings = [(neutral, *one) for neutral, one in zip((1, 0, 1), settings, strict=True)]
    return [(kernel_sizes[i], *(one[i] for one in settings)) for i in range(2)]  # pyright: ignore[reportReturnType]


def _axes(
    make: Any, x: Sequence[int], out: Sequence[int], node: IRNode, kernel_sizes: tuple[int, int]
) -> list[ConvolutionAxis]:
    """Both dimensions of a convolution from images of shape `x` to those of shape `out`."""
    sizes, outputs = _sizes(x), _sizes(out)
    return [make(sizes[i], *window, outputs[i]) for i, window in enumerate(_windows(node, kernel_sizes))]


@implements(convolution)
def _(node: IRNode) -> Routine | None:
    x, weight = node.values[0], node.values[1]
    groups, out = node.statics["groups"], node.out
    outer, inner = weight.shape[0] // groups, weight.shape[1]
    if not _fits(node, outer):
        return None
    sizes = _sizes(weight.shape)
    down, across = _axes(forward_axis, x.shape, out.shape, node, sizes)
    channel_stride = inner * count(sizes)
    return ConvolutionRoutine(
        down, across, groups, inner, outer, _sizes(out.shape), sizes,
        (outer * channel_stride, channel_stride, count(sizes)), x.shape[0], out.dtype,
    )  # fmt: skip


@implements(convolution_transpose)
def _(node: IRNode) -> Routine | None:
    g, weight = node.values
    groups, out = node.statics["groups"], node.out
    inner, outer = weight.shape[0] // groups, weight.shape[1]
    if not _fits(node, outer):
        return None
    sizes = _sizes(weight.shape)
    down, across = _axes(backward_axis, out.shape, g.shape, node, sizes)
    channel_stride = outer * count(sizes)
    routine = ConvolutionRoutine(
        down, across, groups, inner, outer, _sizes(out.shape), sizes,
        (inner * channel_stride, count(sizes), channel_stride), g.shape[0], out.dtype,
    )  # fmt: skip
    return lambda g, weight, out: routine(g, weight, None, out)


@implements(convolution_backward_weight)
def _(node: IRNode) -> Routine | None:
    g, x = node.values
    groups, out = node.statics["groups"], node.out
    outer, inner = g.shape[1] // groups, x.shape[1] // groups
    if not _fits(node, outer):
        return None
    sizes = _sizes(out.shape)
    down, across = _axes(forward_axis, x.shape, g.shape, node, sizes)
    return ConvolutionWeightBackward(down, across, groups, inner, outer, sizes, g.shape[0], out.dtype)


__all__: list[str] = []
