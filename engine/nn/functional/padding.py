"""Padding of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from engine.amp.cast_policy import cast_by_name
from engine.errors import ShapeError
from engine.functions import cat
from engine.shape import Dim, format_shape
from engine.tensors import Tensor
from engine.tensors.creation import full

PaddingMode: TypeAlias = Literal["constant", "reflect", "replicate", "circular"]


def pad(input: Tensor, pad: Sequence[int], mode: PaddingMode = "constant", value: float | None = None) -> Tensor:
    """Pad the last dimensions of `input`; negative amounts crop.

    Args:
        input: any tensor
        pad: (before, after) of the last dimension, then of the previous one, and so on: ``(left, right, top, bottom)``
        mode: "constant" (`value`), "reflect" (without the border), "replicate" (border values) or "circular" (opposite
            end)
        value: value for mode "constant" (default: 0)
    """
    _check(input, pad, mode, value)
    return (pad_with_input if mode in ("reflect", "replicate") else _padded)(input, pad, mode, value)


@cast_by_name
def pad_with_input(input: Tensor, pad: Sequence[int], mode: PaddingMode, value: float | None) -> Tensor:
    """`pad` in the modes that copy elements of the input."""
    return _padded(input, pad, mode, value)


def _padded(input: Tensor, pad: Sequence[int], mode: PaddingMode, value: float | None) -> Tensor:
    for number, (before, after) in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        dim = input.ndim - 1 - number
        if before < 0 or after < 0:
            input = _crop(input, dim, max(-before, 0), max(-after, 0))
            before, after = max(before, 0), max(after, 0)
        if before or after:
            _check_amount(input, dim, max(before, after), mode)
            input = cat(_parts(input, dim, before, after, mode, 0.0 if value is None else value), dim)
    return input


def _parts(input: Tensor, dim: int, before: int, after: int, mode: PaddingMode, value: float) -> list[Tensor]:
    """Padding before, the input, and padding after."""
    size = input.shape[dim]

    def border(length: int) -> tuple[Any, ...]:
        return (*input.shape[:dim], length, *input.shape[dim + 1 :])

    if mode == "circular":
        return [input.narrow(dim, size - before, before), input, input.narrow(dim, 0, after)]
    if mode == "reflect":
        first, last = input.narrow(dim, 1, before), input.narrow(dim, size - 1 - after, after)
        return [first.flip(dim), input, last.flip(dim)]
    if mode == "replicate":
        first, last = input.narrow(dim, 0, 1), input.narrow(dim, size - 1, 1)
        return [first.expand(border(before)), input, last.expand(border(after))]
    constants = [full(border(length), value, dtype=input.dtype, device=input.device) for length in (before, after)]
    return [constants[0], input, constants[1]]


def _crop(input: Tensor, dim: int, before: int, after: int) -> Tensor:
    size = input.shape[dim]
    if not isinstance(size, Dim) and before + after > size:
        raise ShapeError(f"pad: dimension {dim} of {format_shape(input.shape)} cannot be cropped by {before + after}")
    return input.narrow(dim, before, size - before - after)


def _check(input: Tensor, pad: Sequence[int], mode: PaddingMode, value: float | None) -> None:
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise ValueError(
            f"pad must have two numbers for each of up to {input.ndim} dimensions, last one first, not {tuple(pad)}"
        )
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise ValueError(f"mode must be 'constant', 'reflect', 'replicate' or 'circular', not {mode!r}")
    if mode != "constant" and value:
        raise ValueError(f"pad: value={value} requires mode 'constant', not {mode!r}. Omit value.")


def _check_amount(input: Tensor, dim: int, amount: int, mode: PaddingMode) -> None:
    size = input.shape[dim]
    limit = {"reflect": size - 1, "circular": size}.get(mode)
    if limit is not None and not isinstance(limit, Dim) and amount > limit:
        raise ShapeError(
            f"pad: mode {mode!r} can add at most {limit} elements to dimension {dim} of {format_shape(input.shape)}, "
            f"not {amount}. Use a smaller padding, or the mode 'replicate'."
        )
    if mode == "replicate" and size == 0:
        raise ShapeError(
            f"pad: mode {mode!r} copies border elements, but dimension {dim} of {format_shape(input.shape)} is empty"
        )
