"""The Gaussian error linear unit and its derivative in one op (Hendrycks and Gimpel, arXiv 1606.08415).

In single precision Φ(x) = 1 / (1 + e^(x·P(x²))), where P is fitted so that the error stays below 6e-8: NumPy has no
error function, and one of polynomials takes ten times as long (benchmarks/operators.py).
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from engine.ops.elementwise.erf import error_function
from engine.ops.record import op
from engine.ops.row_blocks import row_blocks, scratch
from engine.shape import Spec

Approximation = Literal["none", "tanh"]
_A, _B = math.sqrt(2 / math.pi), math.sqrt(2 / math.pi) * 0.044715


@op("other", method=False, outputs=2, floats=True, sample=lambda s: [
    ((s.normal(3, 4),), {"approximate": name}) for name in ("none", "tanh")
])  # fmt: skip
def gelu_op(xp, x, approximate: Approximation = "none"):
    """x·Φ(x), and its derivative Φ(x) + x·φ(x)."""
    dtype, compute_dtype = x.dtype, x.dtype if x.dtype.itemsize >= 4 else np.dtype(np.float32)
    result, slope = xp.empty(x.shape, compute_dtype), xp.empty(x.shape, compute_dtype)
    values, results, slopes = (part.reshape(-1) for part in (x.astype(compute_dtype, copy=False), result, slope))
    kernel = _approximate if approximate == "tanh" else _exact
    temporary = scratch(xp, x.size, 1, compute_dtype).reshape(-1)
    for block in row_blocks(xp, x.size, 1):
        kernel(xp, values[block], results[block], slopes[block], temporary[: block.stop - block.start])
    return tuple(part.astype(dtype, copy=False) for part in (result, slope))


@gelu_op.shape
def _(x: Spec, approximate: Approximation = "none"):
    return x, x


@gelu_op.gradient
def _(g, x, out1, approximate):
    of_result, of_slope = g
    first = None if of_result is None else of_result * out1
    if of_slope is None:
        return first
    if approximate == "tanh":
        t = (x * (_A + _B * x * x)).tanh()
        tanh_slope, inner_slope = 1 - t * t, _A + 3 * _B * x * x
        second = tanh_slope * (inner_slope + x * (3 * _B * x - t * inner_slope * inner_slope))
    else:
        second = (x * x * -0.5).exp() * (2 - x * x) / math.sqrt(2 * math.pi)
    return of_slope * second if first is None else first + of_slope * second


_P = (
    -3.5125700209090563e-09, 2.6453305724872193e-07, -7.929552016821336e-06, 0.00011061266159604606,
    6.518942973527395e-05, -0.07266616877028009, -1.5957698829889677,
)  # fmt: skip
"""Fitted by reweighted least squares to ln(1 / Φ(x) − 1) / x in powers of x², up to x = 5.6."""


def _exact(xp: Any, x: Any, result: Any, slope: Any, square: Any) -> None:
    xp.square(x, out=square)
    if x.dtype.itemsize > 4:
        result[...] = error_function(xp, x * math.sqrt(0.5))
        result *= 0.5
        result += 0.5
    else:
        xp.multiply(square, _P[0], out=result)
        result += _P[1]
        for coefficient in _P[2:]:
            result *= square
            result += coefficient
        result *= x
        xp.exp(result, out=result)
        result += 1
        xp.divide(1, result, out=result)
    square *= -0.5
    xp.exp(square, out=slope)
    slope *= 1 / math.sqrt(2 * math.pi)
    slope *= x
    slope += result
    result *= x


def _approximate(xp: Any, x: Any, result: Any, slope: Any, square: Any) -> None:
    xp.square(x, out=square)
    xp.multiply(square, _B, out=result)
    result += _A
    result *= x
    xp.tanh(result, out=result)
    square *= 3 * _B
    square += _A
    xp.square(result, out=slope)
    xp.subtract(1, slope, out=slope)
    slope *= square
    slope *= x
    slope += result
    slope += 1
    slope *= 0.5
    result += 1
    result *= 0.5
    result *= x
