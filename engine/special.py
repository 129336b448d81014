"""Special functions under PyTorch's names: those of `engine`, and a few that are composed of them."""

from __future__ import annotations

import math

from engine import functions
from engine.ops.elementwise import special_functions as declared
from engine.functions import (
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    i0,
    log1p,
    log_softmax,
    logit,
    logsumexp,
    polygamma,
    round,
    sinc,
    softmax,
    xlogy,
)
from engine.functions import lgamma as gammaln
from engine.functions import mvlgamma as multigammaln
from engine.functions import sigmoid as expit
from engine.ops.record import for_users
from engine.tensor import Tensor

psi = digamma


def entr(input: Tensor) -> Tensor:
    """-x ln x: what an event of probability x adds to the entropy; minus infinity below 0."""
    return functions.where(input < 0, -math.inf, -xlogy(input, input))


def ndtr(input: Tensor) -> Tensor:
    """The share of the standard normal distribution below x."""
    return 0.5 * erfc(input * -math.sqrt(0.5))


def ndtri(input: Tensor) -> Tensor:
    """Below which number a share x of the standard normal distribution is."""
    return math.sqrt(2) * erfinv(2 * input - 1)


def xlog1py(input: Tensor, other: Tensor) -> Tensor:
    """x ln(1 + y), and 0 where x is 0, even if y is -1 or infinite."""
    found = input * log1p(other)
    return functions.where((input == 0) & ~functions.isnan(other), 0.0, found)


__all__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "i0",
    "log1p",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
]

globals().update({f.__name__: for_users(f) for f in (entr, ndtr, ndtri, xlog1py)})
