"""Batch normalisation, and what it shares with instance normalisation."""

from __future__ import annotations

import warnings
from typing import Annotated, ClassVar

from engine import dtypes
from engine.dtypes import DType
from engine.errors import ShapeError
from engine.modes import MODES, no_grad
from engine.nn import functional as F
from engine.nn import init
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, FromInput, Positive, Probability, Size
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import empty, zeros


class ChannelNorm(Module):
    """What norms by channel share: a scale and a shift, and running statistics."""

    absent_in_old_files = frozenset({"num_batches_tracked"})

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        bias: bool,
        track_running_stats: bool,
        device: DeviceArgument,
        dtype: DType | None,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.weight = Parameter(empty(num_features, device=device, dtype=dtype)) if affine else None
        self.bias = Parameter(empty(num_features, device=device, dtype=dtype)) if affine and bias else None
        tracked = track_running_stats
        self.register_buffer("running_mean", empty(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", empty(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", zeros((), device=device, dtype=dtypes.int64) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget what was measured."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Back to the first values: no scaling, no shift, nothing measured."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _count(self) -> float | Tensor:
        """Counts this batch, and returns how far the running statistics move towards it."""
        with no_grad():
            self.num_batches_tracked.add_(1)
            return (
                1.0 / self.num_batches_tracked.to(self.running_mean.dtype) if self.momentum is None else self.momentum
            )

    def _check(self, input: Tensor, dimensions: tuple[int, ...], channel: int) -> None:
        if input.ndim not in dimensions:
            wanted = " or ".join(map(str, dimensions))
            raise ShapeError(f"expected an input of {wanted} dimensions, got {format_shape(input.shape)}")
        if input.shape[channel] == self.num_features:
            return
        if self.weight is None and self.running_mean is None:
            warnings.warn(
                f"{type(self).__name__} of {self.num_features} features gets {input.shape[channel]} channels in "
                f"{format_shape(input.shape)}. It keeps nothing for each of them, so it computes the same.",
                stacklevel=4,
            )
        else:
            raise ShapeError(
                f"expected {self.num_features} channels in dimension {channel}, got {input.shape[channel]} "
                f"in {format_shape(input.shape)}. Set num_features to {input.shape[channel]}."
            )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm(ChannelNorm):
    """What batch norms of all numbers of dimensions share."""

    dimensions: ClassVar[tuple[int, ...]]
    """Numbers of dimensions that an input may have."""

    def __init__(
        self,
        num_features: Annotated[Size, FromInput(1)],
        eps: Positive = 1e-5,
        momentum: Probability | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceArgument = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, bias, track_running_stats, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        self._check(input, self.dimensions, 1)
        measures = self.training or self.running_mean is None
        # A checkpoint that computes a batch again has counted it before.
        counts = self.training and self.track_running_stats and self.running_mean is not None and not MODES.again
        running = (self.running_mean, self.running_var) if counts or not measures else (None, None)
        return F.batch_norm(
            input, *running, self.weight, self.bias, measures, self._count() if counts else 0.0, self.eps
        )


@LAYERS.register(category="Normalisation", tags=("batch normalization", "batchnorm"))
class BatchNorm1d(BatchNorm):
    """Batch normalisation of features, ``y = (x - E[x]) / √(Var[x] + eps) · weight + bias`` for each feature.

    ``N×C`` or ``N×C×L`` keeps its shape. Training uses mean and variance of the batch and moves the running ones
    towards them; evaluation uses the running ones. Source: Ioffe and Szegedy, arXiv 1502.03167.

    Args:
        num_features: features, or channels, of the input
        eps: added to the variance, so that nothing is divided by 0
        momentum: how far the running statistics move with each batch; none for the average of all batches
        affine: learn a scale for each feature, and a shift
        track_running_stats: keep running statistics; otherwise evaluation uses those of the batch too
        bias: learn the shift
    """

    dimensions = (2, 3)


@LAYERS.register(category="Normalisation", tags=("batch normalization", "batchnorm"))
class BatchNorm2d(BatchNorm):
    """Batch normalisation of images, ``y = (x - E[x]) / √(Var[x] + eps) · weight + bias`` for each channel.

    ``N×C×H×W`` keeps its shape. Training uses mean and variance over batch, height and width and moves the running
    ones towards them; evaluation uses the running ones. Source: Ioffe and Szegedy, arXiv 1502.03167.

    Args:
        num_features: channels of the input
        eps: added to the variance, so that nothing is divided by 0
        momentum: how far the running statistics move with each batch; none for the average of all batches
        affine: learn a scale for each channel, and a shift
        track_running_stats: keep running statistics; otherwise evaluation uses those of the batch too
        bias: learn the shift
    """

    dimensions = (4,)


@LAYERS.register(category="Normalisation", tags=("batch normalization", "batchnorm"))
class BatchNorm3d(BatchNorm):
    """Batch normalisation of volumes, ``y = (x - E[x]) / √(Var[x] + eps) · weight + bias`` for each channel.

    ``N×C×D×H×W`` keeps its shape. Training uses mean and variance over all but the channels and moves the running
    ones towards them; evaluation uses the running ones. Source: Ioffe and Szegedy, arXiv 1502.03167.

    Args:
        num_features: channels of the input
        eps: added to the variance, so that nothing is divided by 0
        momentum: how far the running statistics move with each batch; none for the average of all batches
        affine: learn a scale for each channel, and a shift
        track_running_stats: keep running statistics; otherwise evaluation uses those of the batch too
        bias: learn the shift
    """

    dimensions = (5,)
