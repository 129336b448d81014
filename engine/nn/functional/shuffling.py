"""Pixel and channel shuffles."""

from __future__ import annotations

from engine.errors import ShapeError
from engine.shape import Dim, format_shape
from engine.tensors import Tensor


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange ``(*, C·r², H, W)`` to ``(*, C, H·r, W·r)``. Source: Shi et al., arXiv 1609.05158."""
    r = upscale_factor
    _check("pixel_shuffle", input, r)
    *lead, channels, height, width = input.shape
    if channels % (r * r):
        raise ShapeError(f"pixel_shuffle: {channels} channels are not divisible by {r}×{r}")
    split = input.reshape(*lead, channels // (r * r), r, r, height, width)
    n = len(lead)
    permuted = split.permute(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return permuted.reshape(*lead, channels // (r * r), height * r, width * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange ``(*, C, H·r, W·r)`` to ``(*, C·r², H, W)``, the inverse of `pixel_shuffle`."""
    r = downscale_factor
    _check("pixel_unshuffle", input, r)
    *lead, channels, height, width = input.shape
    if any(not isinstance(size, Dim) and size % r for size in (height, width)):
        raise ShapeError(f"pixel_unshuffle: {format_shape((height, width))} is not divisible into {r}×{r} pixels")
    split = input.reshape(*lead, channels, height // r, r, width // r, r)
    n = len(lead)
    permuted = split.permute(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return permuted.reshape(*lead, channels * r * r, height // r, width // r)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave the channels of `groups` groups of ``(N, C, *)``. Source: Zhang et al., arXiv 1707.01083."""
    if input.ndim < 3 or groups < 1 or input.shape[1] % groups:
        raise ShapeError(
            f"channel_shuffle: the channels of {format_shape(input.shape)} are not divisible by groups={groups}"
        )
    batch, channels, *rest = input.shape
    split = input.reshape(batch, groups, channels // groups, *rest)
    return split.transpose(1, 2).reshape(input.shape)


native_channel_shuffle = channel_shuffle


def _check(name: str, input: Tensor, factor: int) -> None:
    if input.ndim < 3 or factor < 1:
        raise ShapeError(
            f"{name} requires 3 or more dimensions and a factor of at least 1, "
            f"not {format_shape(input.shape)} and {factor}"
        )
