"""Pixel and channel shuffle layers."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.module import Module
from engine.registry import LAYERS, Size
from engine.tensors import Tensor


@LAYERS.register(category="Shape", tags=("depth to space", "super resolution", "upsample"))
class PixelShuffle(Module):
    """Rearranges channels to pixels: ``(N, C·r², H, W) → (N, C, H·r, W·r)`` (Shi et al., arXiv 1609.05158).

    Args:
        upscale_factor: upscale factor r of height and width
    """

    def __init__(self, upscale_factor: Size) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


@LAYERS.register(category="Shape", tags=("space to depth", "downsample"))
class PixelUnshuffle(Module):
    """Rearranges pixels to channels: ``(N, C, H·r, W·r) → (N, C·r², H, W)``, the inverse of PixelShuffle.

    Args:
        downscale_factor: downscale factor r of height and width
    """

    def __init__(self, downscale_factor: Size) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


@LAYERS.register(category="Shape", tags=("shufflenet", "groups"))
class ChannelShuffle(Module):
    """Interleaves the channels of groups, so that groups mix: any shape ``(N, C, *)`` (arXiv 1707.01083).

    Args:
        groups: number of channel groups
    """

    def __init__(self, groups: Size) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
