"""Shifting and scaling activations to mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Sequence

from engine.backend import META
from engine.errors import ShapeError
from engine.modes import no_grad
from engine.ops.batch_norm import normalize_channels
from engine.ops.normalization import standardize
from engine.shape import count, format_shape
from engine.tensor import Tensor


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """``(x - mean) / √(var + eps) · weight + bias`` for each channel of ``N×C×…``.

    In training, mean and variance are those of the batch, and the running ones move towards them by `momentum` (the
    running variance towards the unbiased one). Otherwise the running ones are used.
    Source: Ioffe and Szegedy, arXiv 1502.03167.
    """
    shape = (1, -1) + (1,) * (input.ndim - 2)
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError(
                "batch_norm in evaluation needs running_mean and running_var. Pass them, or training=True."
            )
        scale = (running_var + eps).rsqrt()
        scale = scale if weight is None else scale * weight
        shift = -running_mean * scale
        shift = shift if bias is None else shift + bias
        return input * scale.reshape(shape) + shift.reshape(shape)
    dims = (0, *range(2, input.ndim))
    size = count(input.shape[dim] for dim in dims)
    if size == 1:
        raise ShapeError(
            "batch_norm needs more than one value per channel in training, "
            f"but the input is {format_shape(input.shape)}. Use a larger batch, or drop_last=True in the data loader, "
            "or call eval()."
        )
    flat = input.reshape(*input.shape[:2], count(input.shape[2:]))
    scaled, mean, variance, _ = normalize_channels(flat, weight, bias, eps)
    if running_mean is not None and running_var is not None and input.device is not META:
        with no_grad():
            running_mean.lerp_(mean.detach(), momentum)
            running_var.lerp_(variance.detach() * (size / (size - 1)), momentum)
    return scaled.reshape(input.shape)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """``(x - mean) / √(var + eps) · weight + bias`` over the last dimensions, of sizes `normalized_shape`.

    Source: Ba et al., arXiv 1607.06450.
    """
    own = tuple(normalized_shape)
    if tuple(input.shape[-len(own) :]) != own:
        raise ShapeError(
            f"layer_norm over {format_shape(own)} got an input of {format_shape(input.shape)}, "
            f"which ends in {format_shape(input.shape[-len(own) :])}."
        )
    dims = tuple(range(-len(own), 0))
    return _affine(standardize(input, dims, eps)[0], weight, bias, own)


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    x = x if weight is None else x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)
