"""Max pooling with random window positions and a fractional ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from engine.amp.cast_policy import cast_by_name
from engine.errors import ShapeError
from engine.nn.functional.batch_dimension import add_batch_dimension
from engine.ops.indexing.gather import gather_op
from engine.ops.spatial.sliding_windows import per_dim
from engine.shape import count, format_shape
from engine.tensors import Tensor
from engine.tensors.creation import arange, rand

Sizes: TypeAlias = int | Sequence[int]
Ratios: TypeAlias = float | Sequence[float]


@cast_by_name
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Maxima over windows of ``(N, C, H, W)`` at random positions, to `output_size` or by `output_ratio`.

    Source: Graham, Fractional max-pooling, arXiv 1412.6071.
    """
    sizes = _output_sizes("fractional_max_pool2d", input, output_size, output_ratio, 2)
    # The first random number is for the width.
    return _pool("fractional_max_pool2d", input, kernel_size, sizes, return_indices, _random_samples, (1, 0))


@cast_by_name
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Maxima over windows of ``(N, C, D, H, W)`` at random positions, to `output_size` or by `output_ratio`.

    Source: Graham, Fractional max-pooling, arXiv 1412.6071.
    """
    sizes = _output_sizes("fractional_max_pool3d", input, output_size, output_ratio, 3)
    return _pool("fractional_max_pool3d", input, kernel_size, sizes, return_indices, _random_samples, (0, 1, 2))


def _output_sizes(
    name: str, input: Tensor, output_size: Sizes | None, output_ratio: Ratios | None, ndim: int
) -> tuple[int, ...]:
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{name} requires either output_size or output_ratio")
    if output_size is not None:
        return per_dim(output_size, ndim)
    ratios = output_ratio if isinstance(output_ratio, Sequence) else (output_ratio,) * ndim
    return tuple(int(size * ratio) for size, ratio in zip(input.shape[-ndim:], ratios, strict=True))


def _pool(
    name: str,
    input: Tensor,
    kernel_size: Sizes,
    out_sizes: tuple[int, ...],
    return_indices: bool,
    samples: Tensor | None,
    order: tuple[int, ...],
) -> Any:
    ndim = len(out_sizes)
    input, unbatched = add_batch_dimension(name, input, ndim)
    kernel, sizes = per_dim(kernel_size, ndim), tuple(input.shape[2:])
    if any(out_size < 1 or out_size + k - 1 > size for out_size, k, size in zip(out_sizes, kernel, sizes, strict=True)):
        raise ShapeError(
            f"{name}: the input {format_shape(sizes)} is too small for {format_shape(out_sizes)} windows of "
            f"{format_shape(kernel)}"
        )
    if samples is None:
        samples = rand(*input.shape[:2], ndim, dtype=input.dtype, device=input.device)
    position: Any = 0
    for axis in range(ndim):
        sample = samples[..., order[axis]].unsqueeze(-1)
        start = _starts(sample, sizes[axis], out_sizes[axis], kernel[axis]).unsqueeze(-1)
        window = start + arange(kernel[axis], device=input.device)
        shape = [*input.shape[:2], *(1,) * (2 * ndim)]
        shape[2 + axis], shape[2 + ndim + axis] = out_sizes[axis], kernel[axis]
        position = position + window.reshape(shape) * count(sizes[axis + 1 :])
    flat = input.flatten(2)
    windows = position.reshape(*input.shape[:2], count(out_sizes), count(kernel))
    values = gather_op(flat.detach(), windows.flatten(2), dim=2).reshape(windows.shape)
    indices = gather_op(windows, values.argmax(-1, True), dim=-1).squeeze(-1)
    shape = (*input.shape[1 if unbatched else 0 : 2], *out_sizes)
    found = gather_op(flat, indices, dim=2).reshape(shape)
    return (found, indices.reshape(shape)) if return_indices else found


def _starts(sample: Tensor, size: int, out_size: int, kernel: int) -> Tensor:
    """Start indices of the windows in one dimension; the last window ends at the end."""
    last = arange(out_size, device=sample.device) == out_size - 1
    step = (size - kernel) / max(out_size - 1, 1)
    begin = ((arange(out_size, device=sample.device) + sample) * step).long() - (sample * step).long()
    return last * (size - kernel) + last.logical_not() * begin
