"""Convolution."""

from __future__ import annotations

from engine.ops import conv
from engine.ops.windows import per_dim
from engine.tensor import Tensor

Pair = int | tuple[int, int]


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of ``N×C×H×W`` with ``O×(C/groups)×KH×KW``.

    `padding` may be "valid" (none) or "same" (the output keeps the size; needs stride 1).
    """
    if isinstance(padding, str):
        if padding == "valid":
            padding = 0
        elif padding == "same":
            input, padding = _same(input, weight, stride, dilation)
        else:
            raise ValueError(f"padding must be a number, a pair of numbers, 'same' or 'valid', not {padding!r}")
    return conv.conv2d(input, weight, bias, stride, padding, dilation, groups)


def _same(input: Tensor, weight: Tensor, stride: Pair, dilation: Pair) -> tuple[Tensor, tuple[int, int]]:
    """The input and the padding with which the output has the input's size. What is odd goes to the end."""
    if per_dim(stride, 2) != (1, 1):
        raise ValueError(f"padding='same' needs stride 1, not {stride}. Give the padding as numbers.")
    totals = [d * (k - 1) for d, k in zip(per_dim(dilation, 2), weight.shape[2:], strict=True)]
    for axis, total in enumerate(totals):
        if total % 2:
            input = input.pad_with_zeros(2 + axis, 0, 1)
    return input, (totals[0] // 2, totals[1] // 2)
