"""Convolution."""

from __future__ import annotations

from engine.nn.functional.padding import pad
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
        left, right, top, bottom = borders(padding, tuple(weight.shape[2:]), stride, dilation)
        if (left, top) == (right, bottom):
            padding = (top, left)
        else:
            input, padding = pad(input, (left, right, top, bottom)), 0
    return conv.conv2d(input, weight, bias, stride, padding, dilation, groups)


def borders(padding: Pair | str, kernel_size: Pair, stride: Pair, dilation: Pair) -> tuple[int, int, int, int]:
    """(left, right, top, bottom) of a convolution's padding. What is odd for "same" goes to the end.

    Raises ValueError for a word that is not "same" or "valid", and for "same" with a stride.
    """
    if not isinstance(padding, str):
        height, width = per_dim(padding, 2)
        return width, width, height, height
    if padding == "valid":
        return 0, 0, 0, 0
    if padding != "same":
        raise ValueError(f"padding must be a number, a pair of numbers, 'same' or 'valid', not {padding!r}")
    if per_dim(stride, 2) != (1, 1):
        raise ValueError(f"padding='same' needs stride 1, not {stride}. Give the padding as numbers.")
    height, width = (d * (k - 1) for d, k in zip(per_dim(dilation, 2), per_dim(kernel_size, 2), strict=True))
    return width // 2, width - width // 2, height // 2, height - height // 2
