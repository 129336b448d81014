"""1D, 2D and 3D convolution and transposed convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from engine.amp.cast_policy import cast_by_name
from engine.errors import ShapeError
from engine.nn.functional.batch_dimension import add_batch_dimension
from engine.nn.functional.padding import pad
from engine.ops.shape_rules import same_dtype
from engine.ops.spatial.conv import convolution, convolution_transpose
from engine.ops.spatial.sliding_windows import per_dim
from engine.shape import format_shape
from engine.tensors import Tensor

Sizes: TypeAlias = int | Sequence[int]


@cast_by_name
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """``(N, C, L)`` convolved (cross-correlated) with a weight ``(O, C/groups, K)``.

    `padding` may be "valid" (none) or "same" (keeps the size; requires stride 1).
    """
    return _convolve("conv1d", input, weight, bias, stride, padding, dilation, groups, 1)


@cast_by_name
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """``(N, C, H, W)`` convolved (cross-correlated) with a weight ``(O, C/groups, KH, KW)``.

    `padding` may be "valid" (none) or "same" (keeps the size; requires stride 1).
    """
    return _convolve("conv2d", input, weight, bias, stride, padding, dilation, groups, 2)


@cast_by_name
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """``(N, C, D, H, W)`` convolved (cross-correlated) with a weight ``(O, C/groups, KD, KH, KW)``.

    `padding` may be "valid" (none) or "same" (keeps the size; requires stride 1).
    """
    return _convolve("conv3d", input, weight, bias, stride, padding, dilation, groups, 3)


@cast_by_name
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution of ``(N, C, L)`` with ``(C, O/groups, K)``, the gradient of `conv1d`."""
    return _transpose("conv_transpose1d", input, weight, bias, stride, padding, output_padding, groups, dilation, 1)


@cast_by_name
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution of ``(N, C, H, W)`` with ``(C, O/groups, KH, KW)``, the gradient of `conv2d`."""
    return _transpose("conv_transpose2d", input, weight, bias, stride, padding, output_padding, groups, dilation, 2)


@cast_by_name
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution of ``(N, C, D, H, W)`` with ``(C, O/groups, KD, KH, KW)``, the gradient of `conv3d`."""
    return _transpose("conv_transpose3d", input, weight, bias, stride, padding, output_padding, groups, dilation, 3)


def borders(padding: Sizes | str, kernel_size: Sizes, stride: Sizes, dilation: Sizes, ndim: int) -> tuple[int, ...]:
    """(before, after) padding of each dimension, last dimension first, as in `pad`.

    "same" adds an odd element at the end. Raises ValueError for other strings, and for "same" with a stride.
    """
    if not isinstance(padding, str):
        return tuple(amount for side in reversed(per_dim(padding, ndim)) for amount in (side, side))
    if padding == "valid":
        return (0, 0) * ndim
    if padding != "same":
        raise ValueError(f"padding must be one number, one per dimension, 'same' or 'valid', not {padding!r}")
    if max(per_dim(stride, ndim)) > 1:
        raise ValueError(f"padding='same' requires stride 1, not {stride}. Pass the padding as numbers.")
    sides = zip(per_dim(dilation, ndim), per_dim(kernel_size, ndim), strict=True)
    totals = [d * (k - 1) for d, k in sides]
    return tuple(amount for total in reversed(totals) for amount in (total // 2, total - total // 2))


def transposed_sizes(
    sizes: Sequence[Any], kernel: Sizes, stride: Sizes, padding: Sizes, output_padding: Sizes, dilation: Sizes
) -> tuple[Any, ...]:
    """Spatial output sizes of a transposed convolution."""
    ndim = len(sizes)
    sides = [per_dim(value, ndim) for value in (kernel, stride, padding, output_padding, dilation)]
    return tuple((n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, o, d in zip(sizes, *sides, strict=True))


def _convolve(
    name: str,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
    ndim: int,
) -> Tensor:
    _check_weight(name, weight, weight.shape[0], bias, groups, ndim)
    input, unbatched = add_batch_dimension(name, input, ndim)
    same_dtype("convolution", input.spec, weight.spec, None if bias is None else bias.spec)
    if isinstance(padding, str):
        sides = borders(padding, tuple(weight.shape[2:]), stride, dilation, ndim)
        if sides[::2] == sides[1::2]:
            padding = sides[::-2]
        else:
            input, padding = pad(input, sides), 0
    out = convolution(
        input, weight, bias, per_dim(stride, ndim), per_dim(padding, ndim), per_dim(dilation, ndim), groups
    )
    return out.squeeze(0) if unbatched else out


def _transpose(
    name: str,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
    ndim: int,
) -> Tensor:
    _check_weight(name, weight, weight.shape[1] * groups if weight.ndim > 1 else 0, bias, groups, ndim)
    input, unbatched = add_batch_dimension(name, input, ndim)
    same_dtype(name, input.spec, weight.spec, None if bias is None else bias.spec)
    if input.shape[1] != weight.shape[0]:
        raise ShapeError(
            f"{name}: the weight {format_shape(weight.shape)} expects {weight.shape[0]} channels, "
            f"but the input {format_shape(input.shape)} has {input.shape[1]}."
        )
    stride, padding, dilation = per_dim(stride, ndim), per_dim(padding, ndim), per_dim(dilation, ndim)
    output_paddings = per_dim(output_padding, ndim)
    if any(not 0 <= o < max(s, d) for o, s, d in zip(output_paddings, stride, dilation, strict=True)):
        raise ValueError(
            f"{name}: output_padding {format_shape(output_paddings)} must be at least 0 and smaller than "
            f"stride {format_shape(stride)} or dilation {format_shape(dilation)}"
        )
    sizes = transposed_sizes(input.shape[2:], tuple(weight.shape[2:]), stride, padding, output_paddings, dilation)
    if any(isinstance(size, int) and size < 1 for size in sizes):
        raise ShapeError(f"{name}: {format_shape(input.shape)} would give {format_shape(sizes)}. Reduce the padding.")
    out = convolution_transpose(input, weight, sizes, stride, padding, dilation, groups)
    out = out if bias is None else out + bias.reshape(-1, *(1,) * ndim)
    return out.squeeze(0) if unbatched else out


def _check_weight(name: str, weight: Tensor, outputs: Any, bias: Tensor | None, groups: int, ndim: int) -> None:
    if weight.ndim != ndim + 2:
        raise ShapeError(f"{name}: the weight must have {ndim + 2} dimensions, not {format_shape(weight.shape)}.")
    if groups < 1 or weight.shape[0] % groups:
        raise ShapeError(f"{name}: the {weight.shape[0]} channels of the weight are not divisible by groups={groups}")
    if bias is not None and tuple(bias.shape) != (outputs,):
        raise ShapeError(
            f"{name}: the bias must have shape {outputs} (output channels), not {format_shape(bias.shape)}"
        )
