"""Dropout of elements and of whole channels."""

from __future__ import annotations

import warnings

from engine.errors import EngineWarning, ShapeError
from engine.ops import dropout_ops
from engine.shape import format_shape
from engine.tensors import Tensor

SATURATION = -1.7580993408473766
"""Limit of SELU for large negative inputs."""


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zeroes elements with probability `p` and scales the others by ``1 / (1 - p)``.

    Source: Srivastava et al., JMLR 15 (2014).
    """
    _check("dropout", p)
    if not training:
        return input
    return _store(dropout_ops.dropout(input, p), input, inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zeroes channels of ``(N, C, L)`` or ``(C, L)`` (Tompson et al., arXiv 1411.4280)."""
    _check("dropout1d", p)
    if input.ndim not in (2, 3):
        raise ShapeError(f"dropout1d requires N×C×L or C×L, not {format_shape(input.shape)}")
    return _drop_channels(input, p, inplace, batched=input.ndim == 3) if training else input


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zeroes channels of ``(N, C, H, W)`` (Tompson et al., arXiv 1411.4280)."""
    _check("dropout2d", p)
    if input.ndim != 4:
        text = f"dropout2d treats {format_shape(input.shape)} as N×C×…, as in PyTorch. Use dropout1d for N×C×L."
        warnings.warn(EngineWarning(text, in_code="Use unsqueeze(0) for C×H×W."), stacklevel=2)
    return _drop_channels(input, p, inplace) if training else input


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zeroes channels of ``(N, C, D, H, W)`` or ``(C, D, H, W)`` (Tompson et al., arXiv 1411.4280)."""
    _check("dropout3d", p)
    if input.ndim not in (4, 5):
        warnings.warn(f"dropout3d treats {format_shape(input.shape)} as N×C×…, as in PyTorch", stacklevel=2)
    return _drop_channels(input, p, inplace, batched=input.ndim != 4) if training else input


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for SELU, which keeps mean and variance (Klambauer et al., arXiv 1706.02515)."""
    _check("alpha_dropout", p)
    return _alpha_drop(input, tuple(input.shape), p, inplace) if training and p else input


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels."""
    _check("feature_alpha_dropout", p)
    return _alpha_drop(input, _channels("feature_alpha_dropout", input), p, inplace) if training and p else input


def _drop_channels(input: Tensor, p: float, inplace: bool, *, batched: bool = True) -> Tensor:
    shape = _channels("dropout", input if batched else input.unsqueeze(0))
    scale = dropout_ops.dropout(input.new_ones(shape if batched else shape[1:]), p)
    return _store(input * scale, input, inplace)


def _alpha_drop(input: Tensor, shape: tuple[int, ...], p: float, inplace: bool) -> Tensor:
    if p == 1:
        return _store(input * 0, input, inplace)
    keep = (dropout_ops.dropout(input.new_ones(shape), p) != 0).to(input.dtype)
    scale = ((1 - p) * (1 + p * SATURATION**2)) ** -0.5
    return _store((input * keep + (1 - keep) * SATURATION) * scale - scale * p * SATURATION, input, inplace)


def _channels(name: str, input: Tensor) -> tuple[int, ...]:
    """Shape with one element per channel."""
    if input.ndim < 2:
        raise ShapeError(f"{name} requires batch and channel dimensions, but the input is {format_shape(input.shape)}")
    return (*input.shape[:2], *(1,) * (input.ndim - 2))


def _check(name: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: p must be a probability between 0 and 1, not {p}")


def _store(result: Tensor, input: Tensor, inplace: bool) -> Tensor:
    return input.copy_(result) if inplace else result
