"""Batch normalization, and its common base with instance normalization."""

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
    """Base of batch and instance norms: affine parameters and running statistics."""

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
        """Reset the running statistics."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Reset weight, bias and running statistics to their initial values."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _count_batch(self) -> float | Tensor:
        """Count this batch and return its weight in the running statistics."""
        with no_grad():
            self.num_batches_tracked.add_(1)
            return (
                1.0 / self.num_batches_tracked.to(self.running_mean.dtype) if self.momentum is None else self.momentum
            )

    def _check(self, input: Tensor, dimensions: tuple[int, ...], channel: int) -> None:
        if input.ndim not in dimensions:
            expected = " or ".join(map(str, dimensions))
            raise ShapeError(f"expected an input of {expected} dimensions, got {format_shape(input.shape)}")
        if input.shape[channel] == self.num_features:
            return
        if self.weight is None and self.running_mean is None:
            warnings.warn(
                f"{type(self).__name__} has num_features={self.num_features}, but the input has {input.shape[channel]} "
                f"channels ({format_shape(input.shape)}). The result is the same, because the layer has no parameters.",
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
    """Base of `BatchNorm1d` to `BatchNorm3d`."""

    dimensions: ClassVar[tuple[int, ...]]
    """Supported numbers of input dimensions."""

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
        use_batch_stats = self.training or self.running_mean is None
        # The recomputation in a checkpoint must not count the batch a second time.
        update_running = (
            self.training and self.track_running_stats and self.running_mean is not None and not MODES.recomputation
        )
        running = (self.running_mean, self.running_var) if update_running or not use_batch_stats else (None, None)
        return F.batch_norm(
            input,
            *running,
            self.weight,
            self.bias,
            use_batch_stats,
            self._count_batch() if update_running else 0.0,
            self.eps,
        )


@LAYERS.register(category="Normalization", tags=("batch normalization", "batchnorm"))
class BatchNorm1d(BatchNorm):
    """1D batch normalization: ``y = (x - E[x]) / √(Var[x] + eps) · weight + bias`` for each feature.

    Input and output: ``(N, C)`` or ``(N, C, L)``. Training normalizes with the mean and variance of the batch and
    updates the running statistics; evaluation uses the running statistics. Source: Ioffe and Szegedy, arXiv 1502.03167.

    Args:
        num_features: number of channels C of the input
        eps: term added to the variance for numerical stability
        momentum: weight of a new batch in the running statistics; empty for a cumulative average
        affine: learn a scale (weight) and a shift (bias) per channel
        track_running_stats: keep running statistics; otherwise evaluation uses batch statistics too
        bias: learn the shift (bias)
    """

    dimensions = (2, 3)


@LAYERS.register(category="Normalization", tags=("batch normalization", "batchnorm"))
class BatchNorm2d(BatchNorm):
    """2D batch normalization: ``y = (x - E[x]) / √(Var[x] + eps) · weight + bias`` for each channel.

    Input and output: ``(N, C, H, W)``. Training normalizes with the mean and variance over N, H and W and updates the
    running statistics; evaluation uses the running statistics. Source: Ioffe and Szegedy, arXiv 1502.03167.

    Args:
        num_features: number of channels C of the input
        eps: term added to the variance for numerical stability
        momentum: weight of a new batch in the running statistics; empty for a cumulative average
        affine: learn a scale (weight) and a shift (bias) per channel
        track_running_stats: keep running statistics; otherwise evaluation uses batch statistics too
        bias: learn the shift (bias)
    """

    dimensions = (4,)


@LAYERS.register(category="Normalization", tags=("batch normalization", "batchnorm"))
class BatchNorm3d(BatchNorm):
    """3D batch normalization: ``y = (x - E[x]) / √(Var[x] + eps) · weight + bias`` for each channel.

    Input and output: ``(N, C, D, H, W)``. Training normalizes with the mean and variance over N, D, H and W and updates
    the running statistics; evaluation uses the running statistics. Source: Ioffe and Szegedy, arXiv 1502.03167.

    Args:
        num_features: number of channels C of the input
        eps: term added to the variance for numerical stability
        momentum: weight of a new batch in the running statistics; empty for a cumulative average
        affine: learn a scale (weight) and a shift (bias) per channel
        track_running_stats: keep running statistics; otherwise evaluation uses batch statistics too
        bias: learn the shift (bias)
    """

    dimensions = (5,)
