"""torch.special: special functions of `engine`, and compositions of them."""

from __future__ import annotations

import math

from engine import functions
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
from engine.functions import igamma as gammainc
from engine.functions import igammac as gammaincc
from engine.functions import lgamma as gammaln
from engine.functions import mvlgamma as multigammaln
from engine.functions import sigmoid as expit
from engine.ops.argument_names import as_public_function
from engine.ops.elementwise.special_functions import (
    POLYNOMIALS,
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    erfcx,
    i0e,
    i1e,
    log_ndtr,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
    zeta,
)
from engine.ops.record import Op
from engine.tensors import Tensor

psi = digamma
i1 = modified_bessel_i1
chebyshev_polynomial_t = POLYNOMIALS["chebyshev_polynomial_t"]
chebyshev_polynomial_u = POLYNOMIALS["chebyshev_polynomial_u"]
chebyshev_polynomial_v = POLYNOMIALS["chebyshev_polynomial_v"]
chebyshev_polynomial_w = POLYNOMIALS["chebyshev_polynomial_w"]
hermite_polynomial_h = POLYNOMIALS["hermite_polynomial_h"]
hermite_polynomial_he = POLYNOMIALS["hermite_polynomial_he"]
laguerre_polynomial_l = POLYNOMIALS["laguerre_polynomial_l"]
legendre_polynomial_p = POLYNOMIALS["legendre_polynomial_p"]
shifted_chebyshev_polynomial_t = POLYNOMIALS["shifted_chebyshev_polynomial_t"]
shifted_chebyshev_polynomial_u = POLYNOMIALS["shifted_chebyshev_polynomial_u"]
shifted_chebyshev_polynomial_v = POLYNOMIALS["shifted_chebyshev_polynomial_v"]
shifted_chebyshev_polynomial_w = POLYNOMIALS["shifted_chebyshev_polynomial_w"]


def entr(input: Tensor) -> Tensor:
    """-x ln x, the contribution of a probability to the entropy; -inf for x < 0."""
    return functions.where(input < 0, -math.inf, -xlogy(input, input))


def ndtr(input: Tensor) -> Tensor:
    """Cumulative distribution function of the standard normal distribution."""
    return 0.5 * erfc(input * -math.sqrt(0.5))


def ndtri(input: Tensor) -> Tensor:
    """Quantile function (inverse CDF) of the standard normal distribution."""
    return math.sqrt(2) * erfinv(2 * input - 1)


def xlog1py(input: Tensor, other: Tensor) -> Tensor:
    """x ln(1 + y); 0 where x is 0, even if y is -1 or infinite."""
    found = input * log1p(other)
    return functions.where((input == 0) & ~functions.isnan(other), 0.0, found)


__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]

globals().update(
    {n: as_public_function(f) for n in __all__ if not isinstance(f := globals()[n], Op) and n not in functions.__all__}
)
