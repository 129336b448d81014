"""Functions of PyTorch's `special` only: Bessel, Airy, incomplete gamma, zeta, polynomials, normal tails."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from engine.errors import AutogradError
from engine.ops.composite import composite
from engine.ops.elementwise import bessel_functions as bessel
from engine.ops.elementwise import incomplete_gamma, orthogonal
from engine.ops.elementwise.erf import scaled_complement
from engine.ops.elementwise.selection import where
from engine.ops.elementwise.special import erfc, i0, i1_op, lgamma
from engine.ops.elementwise.transcendental import exp, log, log1p
from engine.ops.elementwise.trigonometric import cos
from engine.ops.record import op

# -- Bessel functions ---------------------------------------------------------------------------------


@op(floats=True, method=False, domain=(-20.0, 20.0))
def bessel_j0(xp, x):
    """Bessel function of the first kind of order 0."""
    return bessel.first_kind(xp, x, 0)


@bessel_j0.gradient
def _(g, x):
    return -g * bessel_j1(x)


@op(floats=True, method=False, domain=(-20.0, 20.0))
def bessel_j1(xp, x):
    """Bessel function of the first kind of order 1."""
    return bessel.first_kind(xp, x, 1)


@bessel_j1.gradient
def _(g, x, out):
    return g * where(x == 0, 0.5, bessel_j0(x) - out / where(x == 0, 1.0, x))


@op(floats=True, method=False, domain=(0.3, 20.0))
def bessel_y0(xp, x):
    """Bessel function of the second kind of order 0, for positive x."""
    return bessel.second_kind(xp, x, 0)


@bessel_y0.gradient
def _(g, x):
    return -g * bessel_y1(x)


@op(floats=True, method=False, domain=(0.3, 20.0))
def bessel_y1(xp, x):
    """Bessel function of the second kind of order 1, for positive x."""
    return bessel.second_kind(xp, x, 1)


@bessel_y1.gradient
def _(g, x, out):
    return g * (bessel_y0(x) - out / x)


@op(floats=True, method=False)
def spherical_bessel_j0(xp, x):
    """Spherical Bessel function of the first kind of order 0, sin x / x."""
    return bessel.spherical(xp, x)


@spherical_bessel_j0.gradient
def _(g, x, out):
    return g * where(x == 0, x * 0, (cos(x) - out) / where(x == 0, 1.0, x))


@op(floats=True, method=False, domain=(-8.0, 8.0))
def airy_ai(xp, x):
    """Airy function Ai; not differentiable, as in PyTorch."""
    return bessel.airy(xp, x)


# -- modified Bessel functions -----------------------------------------------------------------------


@composite(method=False, public=False, sample=lambda s: s.unary())
def modified_bessel_i0(input: Any) -> Any:
    """Modified Bessel function of the first kind of order 0."""
    return i0(input)


@composite(method=False, public=False, sample=lambda s: s.unary())
def modified_bessel_i1(input: Any) -> Any:
    """Modified Bessel function of the first kind of order 1."""
    return i1_op(input)


@op(floats=True, method=False)
def i0e(xp, x):
    """Modified Bessel function of the first kind of order 0, times e^(−|x|)."""
    return bessel.scaled_i0(xp, x)


@i0e.gradient
def _(g, x, out):
    return g * (i1e(x) - x.sign() * out)


@op(floats=True, method=False)
def i1e(xp, x):
    """Modified Bessel function of the first kind of order 1, times e^(−|x|)."""
    return bessel.scaled_i1(xp, x)


@i1e.gradient
def _(g, x, out):
    return g * where(x == 0, 0.5, i0e(x) - out * (x.sign() + 1 / where(x == 0, 1.0, x)))


@op(floats=True, method=False, domain=(0.3, 5.0))
def scaled_modified_bessel_k0(xp, x):
    """Modified Bessel function of the second kind of order 0, times eˣ."""
    return bessel.scaled_k(xp, x, 0)


@scaled_modified_bessel_k0.gradient
def _(g, x, out):
    return g * (out - scaled_modified_bessel_k1(x))


@op(floats=True, method=False, domain=(0.3, 5.0))
def scaled_modified_bessel_k1(xp, x):
    """Modified Bessel function of the second kind of order 1, times eˣ."""
    return bessel.scaled_k(xp, x, 1)


@scaled_modified_bessel_k1.gradient
def _(g, x, out):
    return g * (out - scaled_modified_bessel_k0(x) - out / x)


@composite(method=False, public=False, sample=lambda s: s.unary(0.3, 5.0))
def modified_bessel_k0(input: Any) -> Any:
    """Modified Bessel function of the second kind of order 0."""
    return scaled_modified_bessel_k0(input) * exp(-input)


@composite(method=False, public=False, sample=lambda s: s.unary(0.3, 5.0))
def modified_bessel_k1(input: Any) -> Any:
    """Modified Bessel function of the second kind of order 1."""
    return scaled_modified_bessel_k1(input) * exp(-input)


# -- tails of the normal distribution ---------------------------------------------------------


@op(floats=True, method=False)
def erfcx(xp, x):
    """Scaled complementary error function e^(x²) (1 − erf x), which does not underflow for large x."""
    return scaled_complement(xp, x)


@erfcx.gradient
def _(g, x, out):
    return g * (2 * x * out - 2 / math.sqrt(math.pi))


@composite(method=False, public=False, sample=lambda s: [*s.unary(), ((s.uniform(-40, 8, 9),), {})])
def log_ndtr(input: Any) -> Any:
    """Logarithm of the standard normal cumulative distribution function, exact for large negative x."""
    x = input
    scaled = x * -math.sqrt(0.5)
    low = x < -1
    far = log(erfcx(where(low, scaled, 1.0)) / 2) - x * x / 2
    return where(low, far, log1p(erfc(-where(low, -1.0, scaled)) / -2))


# -- incomplete gamma, zeta -------------------------------------------------------------------


def _orders(s: Any, lowest: int) -> Any:
    return [((s.integers(5, 3, 4) + lowest, s.uniform(0.3, 6, 3, 4)), {}),
            ((s.integers(5, 3, 1) + lowest, s.uniform(0.3, 6, 4)), {})]  # fmt: skip


@op(floats=True, sample=lambda s: _orders(s, 1))
def igamma(xp, x, y):
    """Regularized lower incomplete gamma function: 1/Γ(x) ∫ t^(x − 1) e^(−t) dt from 0 to y."""
    return incomplete_gamma.lower(xp, x, y)


@op(floats=True, sample=lambda s: _orders(s, 1))
def igammac(xp, x, y):
    """Regularized upper incomplete gamma function 1 − igamma(x, y), exact where it is small."""
    return incomplete_gamma.upper(xp, x, y)


@igamma.gradient("y")
def _(g, x, y):
    return g * _density(x, y)


@igammac.gradient("y")
def _(g, x, y):
    return -g * _density(x, y)


def _density(a: Any, x: Any) -> Any:
    a = a if hasattr(a, "dtype") else x.new_tensor(a)
    return exp((a - 1) * log(x) - x - lgamma(a))


@igamma.gradient("x")
@igammac.gradient("x")
def _(g):
    raise AutogradError(
        "igamma() and igammac() have no gradient for their first argument, as in PyTorch.", in_code="Detach it."
    )


@op(floats=True, method=False, sample=lambda s: _orders(s, 2))
def zeta(xp, x, y):
    """Hurwitz zeta function, Σ (y + k)⁻ˣ over k ≥ 0."""
    return incomplete_gamma.zeta(xp, x, y)


@zeta.gradient("y")
def _(g, x, y):
    return -g * x * zeta(x + 1, y)


@zeta.gradient("x")
def _(g):
    raise AutogradError("zeta() has no gradient for its first argument, as in PyTorch.", in_code="Detach it.")


# -- orthogonal polynomials -------------------------------------------------------------------


@op(floats=True, method=False, in_place=False, unpromoted=("n",), sample=lambda s: [
    ((s.uniform(-1, 1, 3, 4), s.integers(9, 4)), {"family": family, "order": 0}) for family in orthogonal.FAMILIES
])  # fmt: skip
def polynomial(xp, x, n, family: str, order: int):
    """Derivative of the given order of the n-th polynomial of a family."""
    return orthogonal.polynomial(xp, x, n, family, order)


@polynomial.gradient("x")
def _(g, x, n, family, order):
    return g * polynomial(x, n, family=family, order=order + 1)


def _samples(s: Any) -> Any:
    return [((s.uniform(-1, 1, 3, 4), s.integers(9, 4)), {}), ((s.uniform(-1, 1, 3, 4), 5), {})]


def _declared(family: str) -> Callable[[Any, Any], Any]:
    """Create the public function of one family."""

    def function(input: Any, n: Any) -> Any:
        like = input if hasattr(input, "dtype") else n
        degree = n if hasattr(n, "dtype") else like.new_tensor(n)
        value = input if hasattr(input, "dtype") else (like * 0.0)[(0,) * like.ndim].detach() + input
        return polynomial(value, degree, family=family, order=0)

    start, _, kind = family.rpartition("_")
    function.__name__ = function.__qualname__ = f"{start}_polynomial_{kind}"
    function.__doc__ = f"{kind.capitalize()} polynomial of degree n ({start.replace('_', ' ')})."
    return composite(function, method=False, public=False, sample=_samples)


POLYNOMIALS = {function.__name__: function for function in map(_declared, orthogonal.FAMILIES)}
