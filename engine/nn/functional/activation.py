"""Activation functions. All except `glu` keep the shape; subgradients are those of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from engine.amp.cast_policy import cast_by_name
from engine.dtypes import bool_, uint8
from engine.errors import DTypeError, RangeError, ShapeError
from engine.ops.elementwise import activation
from engine.ops.elementwise.selection import where
from engine.ops.shape_rules import wrap_dim
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import rand_like

SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


# -- ReLU family -------------------------------------------------------------------------------


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(x, 0)``."""
    return input.relu_() if inplace else input.relu()


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(x, 0), 6)`` (Howard et al., arXiv 1704.04861)."""
    return hardtanh(input, 0.0, 6.0, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` where ``x > 0``, else ``negative_slope x`` (Maas et al., ICML 2013)."""
    return _apply(lambda x: activation.leaky_relu_op(x, negative_slope), input, inplace)


@cast_by_name
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``x`` where ``x > 0``, else ``weight x``; one weight, or one per channel (He et al., arXiv 1502.01852)."""
    return activation.prelu(input, weight)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Leaky ReLU with random negative slopes in training, and the mean slope otherwise (arXiv 1505.00853)."""
    if lower > upper:
        raise ValueError(f"rrelu: lower={lower} must not be greater than upper={upper}")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slope = rand_like(input.detach()) * (upper - lower) + lower
    return _apply(lambda x: where(x > 0, x, x * slope), input, inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where ``x > 0``, else ``alpha (exp(x) - 1)`` (Clevert et al., arXiv 1511.07289)."""
    return _apply(lambda x: activation.elu_op(x, alpha), input, inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Scaled ELU for self-normalizing networks (Klambauer et al., arXiv 1706.02515)."""
    return _apply(lambda x: activation.elu_op(x, SELU_ALPHA) * SELU_SCALE, input, inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(0, x) + min(0, alpha (exp(x / alpha) - 1))`` (Barron, arXiv 1704.07483)."""
    if alpha == 0:
        raise ValueError("celu: alpha must not be 0")
    return _apply(lambda x: activation.elu_op(x, alpha, alpha), input, inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``x`` where ``x > threshold``, else `value`."""
    return _apply(lambda x: where(x <= threshold, value, x), input, inplace)


# -- smooth activations ------------------------------------------------------------------------------


def gelu(input: Tensor, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """``x Φ(x)`` (Hendrycks and Gimpel, arXiv 1606.08415), or the tanh approximation."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', not {approximate!r}")
    return activation.gelu(input, approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x σ(x)`` (Elfwing et al., arXiv 1702.03118), also known as swish."""
    return _apply(lambda x: x * x.sigmoid(), input, inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x tanh(softplus(x))`` (Misra, arXiv 1908.08681)."""
    return _apply(lambda x: x * softplus(x).tanh(), input, inplace)


def sigmoid(input: Tensor) -> Tensor:
    """``σ(x) = 1 / (1 + exp(-x))``."""
    return input.sigmoid()


def logsigmoid(input: Tensor) -> Tensor:
    """``log σ(x)``, numerically stable."""
    return -activation.softplus(-input, threshold=math.inf)


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return input.tanh()


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta x)) / beta``; ``x`` where ``beta x > threshold``."""
    return activation.softplus(input, beta, threshold)


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh x``."""
    return input - input.tanh()


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """``a σ(b)`` with the halves a and b of `input` along `dim` (Dauphin et al., arXiv 1612.08083)."""
    if input.ndim == 0:
        raise ShapeError("glu: the input must have at least one dimension, but is a scalar")
    dim = wrap_dim("glu", dim, input.ndim)
    if input.shape[dim] % 2:
        raise ShapeError(f"glu: dimension {dim} of {format_shape(input.shape)} must have an even size")
    half = input.shape[dim] // 2
    return input.narrow(dim, 0, half) * input.narrow(dim, half, half).sigmoid()


# -- piecewise linear activations --------------------------------------------------------------------------


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` clamped to the range from `min_val` to `max_val`."""
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val={min_val} must not be greater than max_val={max_val}")
    if not input.is_floating_point():
        low, high = _integer_bounds(input, min_val, max_val)
        return _apply(lambda x: x.clamp(low, high), input, inplace)
    return _apply(
        lambda x: where((x <= min_val) | (x >= max_val), x.detach().clamp(min_val, max_val), x), input, inplace
    )


def _integer_bounds(input: Tensor, min_val: float, max_val: float) -> tuple[int, int]:
    """Bounds for integer inputs, truncated as in PyTorch."""
    if input.dtype is bool_:
        raise DTypeError("hardtanh does not support boolean inputs.", in_code="Convert with .float().")
    if input.dtype is uint8 and min_val < 0:
        raise RangeError(f"hardtanh: min_val={min_val} is out of range for uint8.", in_code="Convert with .long().")
    return int(min_val), int(max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(x + 3) / 6`` (Howard et al., arXiv 1905.02244)."""
    return _apply(lambda x: relu6(x + 3) / 6, input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x relu6(x + 3) / 6`` (Howard et al., arXiv 1905.02244)."""
    return _apply(lambda x: x * (relu6(x + 3) / 6), input, inplace)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``x`` where ``|x| > lambd``, else 0."""
    return activation.hardshrink(input, lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``sign(x) max(|x| - lambd, 0)``."""
    if lambd < 0:
        raise ValueError(f"softshrink: lambd must be ≥ 0, not {lambd}")
    return where(input > lambd, input - lambd, where(input < -lambd, input + lambd, input * 0))


# -- helpers ----------------------------------------------------------------------------------


def _apply(function: Callable[[Tensor], Tensor], input: Tensor, inplace: bool) -> Tensor:
    """`function(input)`, written to the memory of the input if `inplace` is set."""
    if not inplace:
        return function(input)
    return input.copy_(function(input.clone() if input.requires_grad else input))


def relu_(input: Tensor) -> Tensor:
    """In-place `relu`."""
    return relu(input, inplace=True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place `elu`."""
    return elu(input, alpha, inplace=True)


def selu_(input: Tensor) -> Tensor:
    """In-place `selu`."""
    return selu(input, inplace=True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place `celu`."""
    return celu(input, alpha, inplace=True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place `leaky_relu`."""
    return leaky_relu(input, negative_slope, inplace=True)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """In-place `rrelu`."""
    return rrelu(input, lower, upper, training, inplace=True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place `hardtanh`."""
    return hardtanh(input, min_val, max_val, inplace=True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place `threshold`."""
    return _apply(lambda x: where(x <= threshold, value, x), input, True)
