"""Batch, layer and RMS normalization."""

from __future__ import annotations

from collections.abc import Sequence

from engine.backend import META
from engine.dtypes import finfo
from engine.errors import ShapeError
from engine.functions import div
from engine.modes import no_grad
from engine.ops.linalg.norms import vector_norm
from engine.ops.normalization.batch_norm import batch_norm_op
from engine.ops.normalization.layer_norm import layer_norm_op
from engine.shape import count, format_shape
from engine.tensors import Tensor


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
    """``(x - mean) / √(var + eps) · weight + bias`` for each channel of ``(N, C, *)``.

    In training, uses the mean and variance of the batch and updates the running statistics (with the unbiased
    variance). Otherwise uses the running statistics. Source: Ioffe and Szegedy, arXiv 1502.03167.
    """
    shape = (1, -1) + (1,) * (input.ndim - 2)
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError(
                "batch_norm requires running_mean and running_var in evaluation. Pass them, or training=True."
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
            "batch_norm requires more than one value per channel in training, "
            f"but the input is {format_shape(input.shape)}. Use larger batches, or drop the last batch.",
            in_code="To evaluate, call eval().",
        )
    flat = input.reshape(*input.shape[:2], count(input.shape[2:]))
    scaled, mean, variance, _ = batch_norm_op(flat, weight, bias, eps)
    if running_mean is not None and running_var is not None and input.device is not META and size:
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
    """``(x - mean) / √(var + eps) · weight + bias`` over the last dimensions, whose sizes are `normalized_shape`.

    Source: Ba et al., arXiv 1607.06450.
    """
    sizes = tuple(normalized_shape)
    _check_shape("layer_norm", input, sizes)
    return layer_norm_op(input, weight, bias, dims=len(sizes), eps=eps)[0]


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """``x / √(mean(x²) + eps) · weight`` over the last dimensions, whose sizes are `normalized_shape`.

    `eps` defaults to the precision of the dtype. Source: Zhang and Sennrich, arXiv 1910.07467.
    """
    sizes = tuple(normalized_shape)
    _check_shape("rms_norm", input, sizes)
    dims = tuple(range(-len(sizes), 0))
    eps = float(finfo(input.dtype).eps) if eps is None else eps
    scaled = input * ((input * input).mean(dims, True) + eps).rsqrt()
    return scaled if weight is None else scaled * weight


def normalize(
    input: Tensor, p: float = 2.0, dim: int | tuple[int, ...] = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Divide vectors along `dim` by their `p`-norm, clamped to at least `eps`."""
    norms = vector_norm(input, p, dim, True).clamp(min=eps)
    return input / norms if out is None else div(input, norms, out=out)


def _check_shape(name: str, input: Tensor, sizes: tuple[int, ...]) -> None:
    if not sizes or tuple(input.shape[-len(sizes) :]) != sizes:
        ends = input.shape[-len(sizes) :] if sizes else input.shape
        raise ShapeError(
            f"{name} over {format_shape(sizes)} expected an input with these last dimensions, "
            f"got {format_shape(input.shape)}, which ends in {format_shape(ends)}."
        )
