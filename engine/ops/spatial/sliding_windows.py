"""Sliding windows over the spatial dimensions of N×C×…, for convolution and pooling."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import ShapeError
from engine.ops.shape_rules import window_size
from engine.shape import format_shape


@dataclass(frozen=True, slots=True)
class SlidingWindows:
    """Kernel size, stride, padding and dilation, one number for each spatial dimension."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    ceil_mode: bool = False

    @classmethod
    def of(
        cls, kernel: Any, stride: Any, padding: Any, dilation: Any, ndim: int, ceil_mode: bool = False
    ) -> SlidingWindows:
        sizes = [per_dim(value, ndim) for value in (kernel, stride, padding, dilation)]
        return cls(sizes[0], sizes[1], sizes[2], sizes[3], ceil_mode)

    @property
    def overlap(self) -> bool:
        """Whether two windows can contain the same element."""
        return any(s < d * (k - 1) + 1 for s, d, k in zip(self.stride, self.dilation, self.kernel, strict=True))

    @property
    def transposed(self) -> SlidingWindows:
        """Windows of the transposed convolution, at stride 1. Their padding may be negative."""
        padding = (d * (k - 1) - p for d, k, p in zip(self.dilation, self.kernel, self.padding, strict=True))
        return replace(self, padding=tuple(padding))

    def output_sizes(self, name: str, sizes: Sequence[Any]) -> tuple[Any, ...]:
        """Number of windows along each dimension of `sizes`.

        Raises:
            ShapeError: no window fits, or an option is out of range.
        """
        if min((*self.kernel, *self.stride, *self.dilation)) < 1 or min(self.padding) < 0:
            raise ShapeError(
                f"{name}: kernel {format_shape(self.kernel)}, stride {format_shape(self.stride)} and dilation "
                f"{format_shape(self.dilation)} must be at least 1, padding {format_shape(self.padding)} at least 0"
            )
        counts = tuple(
            window_size(size, k, s, p, d, self.ceil_mode)
            for size, k, s, p, d in zip(sizes, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        )
        if any(isinstance(number, int) and number < 1 for number in counts):
            raise ShapeError(
                f"{name}: a window of {format_shape(self.kernel)} (dilation {format_shape(self.dilation)}) "
                f"does not fit into {format_shape(sizes)} with padding {format_shape(self.padding)}. "
                "Use a smaller kernel or more padding."
            )
        return counts

    def padded(self, xp: Any, x: Any, output_sizes: Sequence[int], fill: float = 0.0) -> Any:
        """`x` padded with `fill`. In ceil mode the last windows may need more padding at the end."""
        after = [
            max((n - 1) * s + d * (k - 1) + 1 - size - p, 0)
            for n, s, d, k, size, p in zip(
                output_sizes, self.stride, self.dilation, self.kernel, x.shape[2:], self.padding, strict=True
            )
        ]
        if not any(self.padding) and not any(after):
            return x
        after = [max(a, p) for a, p in zip(after, self.padding, strict=True)]
        sizes = tuple(size + p + a for size, p, a in zip(x.shape[2:], self.padding, after, strict=True))
        out = xp.full((*x.shape[:2], *sizes), fill, x.dtype)
        out[(..., *self._inside(x.shape[2:]))] = x
        return out

    def unpadded(self, x: Any, sizes: Sequence[int]) -> Any:
        return x[(..., *self._inside(sizes))]

    def offsets(self, output_sizes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
        """Each kernel position, with the index of the padded input elements that it reads in all windows."""
        for position in self.offsets_in_kernel():
            slices = tuple(
                slice(i * d, i * d + (n - 1) * s + 1, s)
                for i, d, n, s in zip(position, self.dilation, output_sizes, self.stride, strict=True)
            )
            yield position, (slice(None), slice(None), *slices)

    def offsets_in_kernel(self) -> list[tuple[int, ...]]:
        """The kernel positions, in order."""
        return list(itertools.product(*map(range, self.kernel)))

    def split_kernel(self, lead: int) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """The kernel positions of the first `lead` dimensions with 0 in the others, and those of the others."""
        sides = [range(k) for k in self.kernel]
        first = itertools.product(*sides[:lead], *[(0,)] * (len(sides) - lead))
        return list(first), list(itertools.product(*[(0,)] * lead, *sides[lead:]))

    def padded_sizes(self, sizes: Sequence[int], output_sizes: Sequence[int]) -> tuple[int, ...]:
        return tuple(
            max(size + 2 * p, (n - 1) * s + d * (k - 1) + 1)
            for size, p, n, s, d, k in zip(
                sizes, self.padding, output_sizes, self.stride, self.dilation, self.kernel, strict=True
            )
        )

    def _inside(self, sizes: Sequence[int]) -> tuple[slice, ...]:
        return tuple(slice(p, p + size) for p, size in zip(self.padding, sizes, strict=True))


def per_dim(value: Any, ndim: int) -> tuple[int, ...]:
    """One number for each spatial dimension."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * ndim
