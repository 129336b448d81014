"""Group, instance and local response normalization."""

from __future__ import annotations

from engine.amp.cast_policy import cast_by_name
from engine.backend import META
from engine.dtypes import int64
from engine.errors import ShapeError
from engine.functions import cat
from engine.modes import no_grad
from engine.nn.functional.normalization import batch_norm
from engine.ops.normalization.batch_norm import batch_norm_op, channel_affine
from engine.ops.normalization.layer_norm import layer_norm_op
from engine.shape import count, format_shape
from engine.tensors import Tensor


@cast_by_name
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """``(x - mean) / √(var + eps) · weight + bias`` per channel group and sample of ``(N, C, *)``.

    Source: Wu and He, arXiv 1803.08494.
    """
    if input.ndim < 2 or num_groups < 1 or input.shape[1] % num_groups:
        raise ShapeError(
            f"group_norm: the channels of {format_shape(input.shape)} are not divisible by num_groups={num_groups}"
        )
    group_size = count(input.shape[2:]) * (input.shape[1] // num_groups)
    flat = input.reshape(input.shape[0] * num_groups, group_size)
    return _by_channel(layer_norm_op(flat, eps=eps)[0].reshape(input.shape), weight, bias)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """``(x - mean) / √(var + eps) · weight + bias`` for each channel of each sample of ``(N, C, *)``.

    With `use_input_stats`, uses the mean and variance of the input, and updates the running statistics, if given, with
    their batch means. Otherwise uses the running statistics. Source: Ulyanov et al., arXiv 1607.08022.
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    size = count(input.shape[2:])
    if size == 1:
        raise ShapeError(
            f"instance_norm requires more than one value per channel in training, but the input is "
            f"{format_shape(input.shape)}. Use larger images, or group_norm."
        )
    flat = input.reshape(1, input.shape[0] * input.shape[1], size)
    scaled, mean, variance, _ = batch_norm_op(flat, None, None, eps)
    if running_mean is not None and running_var is not None and input.device is not META:
        with no_grad():
            running_mean.lerp_(mean.detach().reshape(*input.shape[:2]).mean(0), momentum)
            unbiased = variance.detach().reshape(*input.shape[:2]).mean(0) * (size / (size - 1))
            running_var.lerp_(unbiased, momentum)
    return _by_channel(scaled.reshape(input.shape), weight, bias)


def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """``x / (k + alpha · mean(x²))^beta`` with the mean over `size` neighboring channels of ``(N, C, *)``.

    Source: Krizhevsky et al., ImageNet classification with deep convolutional neural networks, 2012.
    """
    if input.ndim < 3:
        raise ShapeError(f"local_response_norm requires 3 or more dimensions, not {format_shape(input.shape)}.")
    channels, squares = input.shape[1], input * input
    border = squares.narrow(1, 0, 1) * 0.0
    before, after = min(size // 2, channels), min((size - 1) // 2, channels)  # limited to the existing channels
    padded = cat([*[border] * before, squares, *[border] * after], 1) if before else squares
    shifted = (padded.narrow(1, start, channels) for start in range(1, before + after + 1))
    total = sum(shifted, padded.narrow(1, 0, channels))
    if input.dtype is int64:  # as in PyTorch, the mean of integers is an integer
        return input / (total // size * alpha + k) ** beta
    return input / (total * (alpha / size) + k) ** beta


def _by_channel(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is None:
        return x if bias is None else (x + bias.reshape(-1, *(1,) * (x.ndim - 2))).to(x.dtype)
    if tuple(weight.shape) != (x.shape[1],):
        raise ShapeError(f"weight must have shape {x.shape[1]} (channels), not {format_shape(weight.shape)}")
    flat = x.reshape(*x.shape[:2], count(x.shape[2:]))
    return channel_affine(flat, weight, bias).reshape(x.shape).to(x.dtype)
