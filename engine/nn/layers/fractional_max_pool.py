"""Max pooling over windows in places that are drawn."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

from engine.nn import functional as F
from engine.nn.layers.annotations import ScriptOnly, SizePerDim
from engine.nn.module import Module
from engine.registry import Probability
from engine.tensors import Tensor

Ratios: TypeAlias = Probability | tuple[Probability, ...]


class FractionalMaxPool(Module):
    """What fractional max pooling of all numbers of dimensions shares."""

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
            raise ValueError(f"{type(self).__name__} needs either output_size or output_ratio")

    def forward(self, input: Tensor) -> Any:
        return _FUNCTIONS[self.spatial](
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self.random_samples
        )


_FUNCTIONS = {2: F.fractional_max_pool2d, 3: F.fractional_max_pool3d}


class FractionalMaxPool2d(FractionalMaxPool):
    """The largest value of each of some windows of an image that lie at random steps (Graham, arXiv 1412.6071).

    ``N×C×H×W`` becomes ``N×C×output_size``, or `output_ratio` times the size. It is not in the palette,
    since one of the two must be given, but not both.

    Args:
        kernel_size: height and width of the windows
        output_size: height and width of the output
        output_ratio: instead of it, the output's share of the input
        return_indices: return the places of the maxima as well
    """

    spatial = 2


class FractionalMaxPool3d(FractionalMaxPool):
    """The largest value of each of some windows of a volume that lie at random steps (Graham, arXiv 1412.6071).

    ``N×C×D×H×W`` becomes ``N×C×output_size``, or `output_ratio` times the size. It is not in the palette,
    since one of the two must be given, but not both.

    Args:
        kernel_size: depth, height and width of the windows
        output_size: depth, height and width of the output
        output_ratio: instead of it, the output's share of the input
        return_indices: return the places of the maxima as well
    """

    spatial = 3
