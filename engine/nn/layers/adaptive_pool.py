"""Pooling to a given output size."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.nn import functional as F
from engine.nn.layers.annotations import ScriptOnly, SizePerDim
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensors import Tensor


class AdaptiveAvgPool(Module):
    """Base of adaptive average pooling in 1, 2 and 3 dimensions."""

    spatial: ClassVar[int]

    def __init__(self, output_size: SizePerDim) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return _AVERAGE_POOLS[self.spatial](input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool(Module):
    """Base of adaptive max pooling in 1, 2 and 3 dimensions."""

    spatial: ClassVar[int]

    def __init__(self, output_size: SizePerDim, return_indices: ScriptOnly = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return _MAX_POOLS[self.spatial](input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


_AVERAGE_POOLS = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
_MAX_POOLS = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}


@LAYERS.register(category="Pooling", tags=("global average pooling", "adaptive"))
class AdaptiveAvgPool2d(AdaptiveAvgPool):
    """2D average pooling to a given output size: ``(N, C, H, W) → (N, C, H_out, W_out)``.

    Output ``i`` of ``n`` is the mean of inputs ``⌊i H / n⌋`` to ``⌈(i + 1) H / n⌉ - 1`` in each dimension.

    Args:
        output_size: output height and width; 1 for global average pooling
    """

    spatial = 2


@LAYERS.register(category="Pooling", tags=("global average pooling", "adaptive"))
class AdaptiveAvgPool1d(AdaptiveAvgPool):
    """1D average pooling to a given output size: ``(N, C, L) → (N, C, L_out)``.

    Output ``i`` of ``n`` is the mean of inputs ``⌊i L / n⌋`` to ``⌈(i + 1) L / n⌉ - 1``.

    Args:
        output_size: output length; 1 for global average pooling
    """

    spatial = 1


@LAYERS.register(category="Pooling", tags=("global average pooling", "adaptive"))
class AdaptiveAvgPool3d(AdaptiveAvgPool):
    """3D average pooling to a given output size: ``(N, C, D, H, W) → (N, C, D_out, H_out, W_out)``.

    Output ``i`` of ``n`` is the mean of inputs ``⌊i D / n⌋`` to ``⌈(i + 1) D / n⌉ - 1`` in each dimension.

    Args:
        output_size: output depth, height and width; 1 for global average pooling
    """

    spatial = 3


@LAYERS.register(category="Pooling", tags=("global max pooling", "adaptive"))
class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """2D max pooling to a given output size: ``(N, C, H, W) → (N, C, H_out, W_out)``.

    Output ``i`` of ``n`` is the maximum of inputs ``⌊i H / n⌋`` to ``⌈(i + 1) H / n⌉ - 1`` in each dimension.

    Args:
        output_size: output height and width; 1 for global max pooling
        return_indices: also return the indices of the maxima
    """

    spatial = 2


@LAYERS.register(category="Pooling", tags=("global max pooling", "adaptive"))
class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """1D max pooling to a given output size: ``(N, C, L) → (N, C, L_out)``.

    Output ``i`` of ``n`` is the maximum of inputs ``⌊i L / n⌋`` to ``⌈(i + 1) L / n⌉ - 1``.

    Args:
        output_size: output length; 1 for global max pooling
        return_indices: also return the indices of the maxima
    """

    spatial = 1


@LAYERS.register(category="Pooling", tags=("global max pooling", "adaptive"))
class AdaptiveMaxPool3d(AdaptiveMaxPool):
    """3D max pooling to a given output size: ``(N, C, D, H, W) → (N, C, D_out, H_out, W_out)``.

    Output ``i`` of ``n`` is the maximum of inputs ``⌊i D / n⌋`` to ``⌈(i + 1) D / n⌉ - 1`` in each dimension.

    Args:
        output_size: output depth, height and width; 1 for global max pooling
        return_indices: also return the indices of the maxima
    """

    spatial = 3
