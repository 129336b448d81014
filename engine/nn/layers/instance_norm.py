"""Instance normalization."""

from __future__ import annotations

from typing import Annotated, ClassVar

from engine.dtypes import DType
from engine.nn import functional as F
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.layers.batch_norm import ChannelNorm
from engine.registry import LAYERS, FromInput, Positive, Probability, Size
from engine.tensors import Tensor


class InstanceNorm(ChannelNorm):
    """Base of `InstanceNorm1d` to `InstanceNorm3d`."""

    spatial: ClassVar[int]

    def __init__(
        self,
        num_features: Annotated[Size, FromInput(1)],
        eps: Positive = 1e-5,
        momentum: Probability | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceArgument = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, bias, track_running_stats, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        unbatched = input.ndim == self.spatial + 1
        self._check(input, (self.spatial + 1, self.spatial + 2), 0 if unbatched else 1)
        out = F.instance_norm(
            input.unsqueeze(0) if unbatched else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out.squeeze(0) if unbatched else out


@LAYERS.register(category="Normalization", tags=("instance normalization", "style"))
class InstanceNorm2d(InstanceNorm):
    """2D instance normalization: ``y = (x - E[x]) / √(Var[x] + eps) · weight + bias`` for each sample and channel.

    Input and output: ``(N, C, H, W)``; the batch dimension is optional. Source: Ulyanov et al., arXiv 1607.08022.

    Args:
        num_features: number of channels C of the input
        eps: term added to the variance for numerical stability
        momentum: weight of a new batch in the running statistics
        affine: learn a scale (weight) and a shift (bias) per channel
        track_running_stats: keep running statistics and use them in evaluation
        bias: learn the shift (bias)
    """

    spatial = 2


@LAYERS.register(category="Normalization", tags=("instance normalization", "style"))
class InstanceNorm1d(InstanceNorm):
    """1D instance normalization: ``y = (x - E[x]) / √(Var[x] + eps) · weight + bias`` for each sample and channel.

    Input and output: ``(N, C, L)``; the batch dimension is optional. Source: Ulyanov et al., arXiv 1607.08022.

    Args:
        num_features: number of channels C of the input
        eps: term added to the variance for numerical stability
        momentum: weight of a new batch in the running statistics
        affine: learn a scale (weight) and a shift (bias) per channel
        track_running_stats: keep running statistics and use them in evaluation
        bias: learn the shift (bias)
    """

    spatial = 1


@LAYERS.register(category="Normalization", tags=("instance normalization", "style"))
class InstanceNorm3d(InstanceNorm):
    """3D instance normalization: ``y = (x - E[x]) / √(Var[x] + eps) · weight + bias`` for each sample and channel.

    Input and output: ``(N, C, D, H, W)``; the batch dimension is optional. Source: Ulyanov et al., arXiv 1607.08022.

    Args:
        num_features: number of channels C of the input
        eps: term added to the variance for numerical stability
        momentum: weight of a new batch in the running statistics
        affine: learn a scale (weight) and a shift (bias) per channel
        track_running_stats: keep running statistics and use them in evaluation
        bias: learn the shift (bias)
    """

    spatial = 3
