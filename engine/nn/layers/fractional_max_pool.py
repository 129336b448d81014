"""Max pooling with random window positions."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

from engine.nn import functional as F
from engine.nn.layers.annotations import ScriptOnly, SizePerDim
from engine.nn.module import Module
from engine.registry import Probability
from engine.tensors import Tensor

Ratios: TypeAlias = Probability | tuple[Probability, ...]


class FractionalMaxPool(Module):
    """Base of 2D and 3D fractional max pooling."""

    spatial: ClassVar[int]

    def __init__(
        self,
        kernel_size: SizePerDim,
        output_size: SizePerDim | None = None,
        output_ratio: Ratios | None = None,
        return_indices: ScriptOnly = False,
        _random_samples: ScriptOnly = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.output_size = output_size
        self.output_ratio = output_ratio
        self.return_indices = return_indices
        self.random_samples = _random_samples
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{type(self).__name__} requires either output_size or output_ratio")

    def forward(self, input: Tensor) -> Any:
        return _FUNCTIONS[self.spatial](
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self.random_samples
        )


_FUNCTIONS = {2: F.fractional_max_pool2d, 3: F.fractional_max_pool3d}


class FractionalMaxPool2d(FractionalMaxPool):
    """2D max pooling with random window positions (Graham, arXiv 1412.6071).

    ``(N, C, H, W) → (N, C, H_out, W_out)``. Not in the palette, because exactly one of `output_size` and `output_ratio`
    is required.

    Args:
        kernel_size: height and width of the windows
        output_size: height and width of the output
        output_ratio: output size as a fraction of the input size, between 0 and 1
        return_indices: also return the indices of the maxima
    """

    spatial = 2


class FractionalMaxPool3d(FractionalMaxPool):
    """3D max pooling with random window positions (Graham, arXiv 1412.6071).

    ``(N, C, D, H, W) → (N, C, D_out, H_out, W_out)``. Not in the palette, because exactly one of `output_size` and
    `output_ratio` is required.

    Args:
        kernel_size: depth, height and width of the windows
        output_size: depth, height and width of the output
        output_ratio: output size as a fraction of the input size, between 0 and 1
        return_indices: also return the indices of the maxima
    """

    spatial = 3
