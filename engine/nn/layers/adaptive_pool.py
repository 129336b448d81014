"""Pooling over as many windows as the output shall have places."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.nn import functional as F
from engine.nn.layers.annotations import ScriptOnly, SizePerDim
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensors import Tensor


class AdaptiveAvgPool(Module):
    """What adaptive average pooling of all numbers of dimensions shares."""

    spatial: ClassVar[int]

    def __init__(self, output_size: SizePerDim) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return _MEANS[self.spatial](input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool(Module):
    """What adaptive max pooling of all numbers of dimensions shares."""

    spatial: ClassVar[int]

    def __init__(self, output_size: SizePerDim, return_indices: ScriptOnly = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return _MAXIMA[self.spatial](input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


_MEANS = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
_MAXIMA = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}


@LAYERS.register(category="Pooling", tags=("global average pooling", "adaptive"))
class AdaptiveAvgPool2d(AdaptiveAvgPool):
    """Averages each channel down to a fixed size: ``N×C×H×W`` becomes ``N×C×output height×output width``.

    Place ``i`` of ``n`` is the mean of the input from ``⌊i H / n⌋`` to below ``⌈(i + 1) H / n⌉``, along each side.

    Args:
        output_size: height and width of the output; 1 for one mean per channel
    """

    spatial = 2


@LAYERS.register(category="Pooling", tags=("global average pooling", "adaptive"))
class AdaptiveAvgPool1d(AdaptiveAvgPool):
    """Averages each channel down to a fixed size: ``N×C×L`` becomes ``N×C×output length``.

    Place ``i`` of ``n`` is the mean of the input from ``⌊i L / n⌋`` to below ``⌈(i + 1) L / n⌉``.

    Args:
        output_size: length of the output; 1 for one mean per channel
    """

    spatial = 1


@LAYERS.register(category="Pooling", tags=("global average pooling", "adaptive"))
class AdaptiveAvgPool3d(AdaptiveAvgPool):
    """Averages each channel down to a fixed size: ``N×C×D×H×W`` becomes ``N×C×output depth×height×width``.

    Place ``i`` of ``n`` is the mean of the input from ``⌊i D / n⌋`` to below ``⌈(i + 1) D / n⌉``, along each side.

    Args:
        output_size: depth, height and width of the output; 1 for one mean per channel
    """

    spatial = 3


@LAYERS.register(category="Pooling", tags=("global max pooling", "adaptive"))
class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """Maxima of each channel over a fixed number of windows: ``N×C×H×W`` becomes ``N×C×output height×output width``.

    Place ``i`` of ``n`` is the largest of the input from ``⌊i H / n⌋`` to below ``⌈(i + 1) H / n⌉``, along each side.

    Args:
        output_size: height and width of the output; 1 for one maximum per channel
        return_indices: return the places of the maxima as well
    """

    spatial = 2


@LAYERS.register(category="Pooling", tags=("global max pooling", "adaptive"))
class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """Maxima of each channel over a fixed number of windows: ``N×C×L`` becomes ``N×C×output length``.

    Place ``i`` of ``n`` is the largest of the input from ``⌊i L / n⌋`` to below ``⌈(i + 1) L / n⌉``.

    Args:
        output_size: length of the output; 1 for one maximum per channel
        return_indices: return the places of the maxima as well
    """

    spatial = 1


@LAYERS.register(category="Pooling", tags=("global max pooling", "adaptive"))
class AdaptiveMaxPool3d(AdaptiveMaxPool):
    """Maxima of each channel over a fixed number of windows: ``N×C×D×H×W`` becomes ``N×C×output depth×height×width``.

    Place ``i`` of ``n`` is the largest of the input from ``⌊i D / n⌋`` to below ``⌈(i + 1) D / n⌉``, along each side.

    Args:
        output_size: depth, height and width of the output; 1 for one maximum per channel
        return_indices: return the places of the maxima as well
    """

    spatial = 3
