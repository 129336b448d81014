"""Elementwise ops. Shapes broadcast, dtypes promote, and both rules are the kind's; gradients are summed back to shape."""

from __future__ import annotations

import math
from typing import Any

from engine.ops.record import composite, op

# -- arithmetic -------------------------------------------------------------------------------


@op(operators=("__add__", "__radd__"))
def add(xp, x, y, out=None, alpha: float = 1):
    """x + alpha · y."""
    return xp.add(x, y if alpha == 1 else alpha * y, out=out)


@add.gradient("x")
def _(g):
    return g


@add.gradient("y")
def _(g, alpha):
    return g if alpha == 1 else g * alpha


@op(operators=("__sub__", "__rsub__"))
def sub(xp, x, y, out=None, alpha: float = 1):
    """x − alpha · y."""
    return xp.subtract(x, y if alpha == 1 else alpha * y, out=out)


@sub.gradient("x")
def _(g):
    return g


@sub.gradient("y")
def _(g, alpha):
    return g * -alpha


@op(operators=("__mul__", "__rmul__"))
def mul(xp, x, y, out=None):
    """x · y."""
    return xp.multiply(x, y, out=out)


@mul.gradient("x")
def _(g, y):
    return g * y


@mul.gradient("y")
def _(g, x):
    return g * x


@op(operators=("__truediv__", "__rtruediv__"), floats=True, domain=(0.5, 2.0))
def div(xp, x, y, out=None):
    """x / y, always in floating point."""
    return xp.true_divide(x, y, out=out)


@div.gradient("x")
def _(g, y):
    return g / y


@div.gradient("y")
def _(g, out, y):
    return -g * out / y


@op(operators=("__pow__", "__rpow__"), domain=(0.5, 2.0))
def pow(xp, x, y, out=None):
    """x to the power y."""
    return xp.power(x, y, out=out)


@pow.gradient("x")
def _(g, x, y):
    # y·x^(y−1) is 0·∞ where y is 0; the derivative there is 0.
    if isinstance(y, (int, float)):
        return g * (y * x ** (y - 1)) if y else g * 0
    return g * where(y == 0, 0.0, y * x ** (y - 1))


@pow.gradient("y")
def _(g, out, x, y):
    logarithm = math.log(x) if isinstance(x, (int, float)) else log(where(x == 0, 1.0, x))
    return g * out * logarithm


@op(operators=("__floordiv__", "__rfloordiv__"), domain=(0.5, 2.0))
def floor_divide(xp, x, y, out=None):
    """The largest whole number not above x / y."""
    return xp.floor_divide(x, y, out=out)


@op(operators=("__mod__", "__rmod__"), domain=(0.5, 2.0))
def remainder(xp, x, y, out=None):
    """x − y·⌊x / y⌋; has y's sign."""
    return xp.remainder(x, y, out=out)


@remainder.gradient("x")
def _(g):
    return g


@remainder.gradient("y")
def _(g, x, y):
    return -g * (x / y).floor()


@op(operators=("__neg__",))
def neg(xp, x, out=None):
    """−x."""
    return xp.negative(x, out=out)


@neg.gradient
def _(g):
    return -g


@op(operators=("__abs__",))
def abs(xp, x, out=None):
    """|x|."""
    return xp.abs(x, out=out)


@abs.gradient
def _(g, x):
    return g * sign(x)


@op()
def sign(xp, x, out=None):
    """−1, 0 or 1."""
    return xp.sign(x, out=out)


@sign.gradient
def _(g):
    return g * 0


@op()
def floor(xp, x, out=None):
    """The largest whole number not above x."""
    return xp.floor(x, out=out)


@floor.gradient
def _(g):
    return g * 0


@op()
def ceil(xp, x, out=None):
    """The smallest whole number not below x."""
    return xp.ceil(x, out=out)


@ceil.gradient
def _(g):
    return g * 0


@op()
def round(xp, x, out=None):
    """The nearest whole number; halves go to the even one."""
    return xp.rint(x, out=out) if out is not None else xp.rint(x).astype(x.dtype, copy=False)


@round.gradient
def _(g):
    return g * 0


# -- exponentials, roots, trigonometry --------------------------------------------------------


@op(floats=True)
def exp(xp, x, out=None):
    """eˣ."""
    return xp.exp(x, out=out)


@exp.gradient
def _(g, out):
    return g * out


@op(floats=True)
def expm1(xp, x, out=None):
    """eˣ − 1, exact near 0."""
    return xp.expm1(x, out=out)


@expm1.gradient
def _(g, out):
    return g * (out + 1)


@op(floats=True, domain=(0.2, 3.0))
def log(xp, x, out=None):
    """Natural logarithm."""
    return xp.log(x, out=out)


@log.gradient
def _(g, x):
    return g / x


@op(floats=True, domain=(0.2, 3.0))
def log1p(xp, x, out=None):
    """ln(1 + x), exact near 0."""
    return xp.log1p(x, out=out)


@log1p.gradient
def _(g, x):
    return g / (x + 1)


@op(floats=True, domain=(0.2, 3.0))
def sqrt(xp, x, out=None):
    """Square root."""
    return xp.sqrt(x, out=out)


@sqrt.gradient
def _(g, out):
    return g / (out * 2)


@op(floats=True, domain=(0.2, 3.0))
def rsqrt(xp, x):
    """1 / √x."""
    return 1 / xp.sqrt(x)


@rsqrt.gradient
def _(g, out):
    return g * out * out * out * -0.5


@op(floats=True)
def sin(xp, x, out=None):
    """Sine of radians."""
    return xp.sin(x, out=out)


@sin.gradient
def _(g, x):
    return g * cos(x)


@op(floats=True)
def cos(xp, x, out=None):
    """Cosine of radians."""
    return xp.cos(x, out=out)


@cos.gradient
def _(g, x):
    return -g * sin(x)


@op(floats=True)
def tanh(xp, x, out=None):
    """Hyperbolic tangent."""
    return xp.tanh(x, out=out)


@tanh.gradient
def _(g, out):
    return g * (1 - out * out)


@op(floats=True)
def erf(xp, x):
    """The error function, 2/√π ∫₀ˣ e^(−t²) dt.

    W. J. Cody, "Rational Chebyshev approximations for the error function", 1969.
    """
    return _erf(xp, x)


@erf.gradient
def _(g, x):
    return g * exp(-x * x) * (2 / math.sqrt(math.pi))


# -- activations ------------------------------------------------------------------------------


@op(floats=True)
def sigmoid(xp, x):
    """Logistic sigmoid, 1 / (1 + e^(−x))."""
    return 1 / (1 + xp.exp(-x))


@sigmoid.gradient
def _(g, out):
    return g * out * (1 - out)


@op(domain=(-2.0, 2.0))
def relu(xp, x, out=None):
    """max(x, 0)."""
    return xp.maximum(x, 0, out=out)


@relu.gradient
def _(g, out):
    return g * (out > 0)


@op(floats=True)
def softplus(xp, x, beta: float = 1.0, threshold: float = 20.0):
    """ln(1 + e^(βx)) / β; x itself where βx is above the threshold."""
    scaled = beta * x
    smooth = xp.maximum(scaled, 0) + xp.log1p(xp.exp(-xp.abs(scaled)))
    return xp.where(scaled > threshold, x, smooth / beta)


@softplus.gradient
def _(g, x, beta, threshold):
    return g * where(x * beta > threshold, 1.0, sigmoid(x * beta))


@composite
def gelu(x: Any, approximate: str = "none") -> Any:
    """x·Φ(x), the Gaussian error linear unit (Hendrycks and Gimpel, 2016); approximate="tanh" for the faster form."""
    if approximate == "tanh":
        return x * 0.5 * (tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)) + 1)
    return x * 0.5 * (erf(x * math.sqrt(0.5)) + 1)


# -- choice -----------------------------------------------------------------------------------


@op(operators=())
def maximum(xp, x, y, out=None):
    """The larger of x and y; NaN if either is."""
    return xp.maximum(x, y, out=out)


@maximum.gradient("x")
def _(g, x, y):
    return g * _share(x, y, 1)


@maximum.gradient("y")
def _(g, x, y):
    return g * _share(x, y, -1)


@op()
def minimum(xp, x, y, out=None):
    """The smaller of x and y; NaN if either is."""
    return xp.minimum(x, y, out=out)


@minimum.gradient("x")
def _(g, x, y):
    return g * _share(x, y, -1)


@minimum.gradient("y")
def _(g, x, y):
    return g * _share(x, y, 1)


def _share(x: Any, y: Any, side: int) -> Any:
    """1 where the first one wins (side 1) or the second (side −1), ½ where both are equal."""
    return (sign(x - y) * side + 1) * 0.5


@op(method=False, masks=("condition",))
def select(xp, condition, x, y):
    """x where the condition holds, else y."""
    if not hasattr(x, "dtype") and not hasattr(y, "dtype"):
        x = xp.asarray(x, xp.float32 if isinstance(x, float) or isinstance(y, float) else None)
    return xp.where(condition, x, y)


@select.gradient("x")
def _(g, condition):
    return select(condition, g, 0.0)


@select.gradient("y")
def _(g, condition):
    return select(condition, 0.0, g)


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y. Shapes broadcast."""
    return select(condition, x, y)


@composite
def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    """x limited to [min, max]; either may be absent, a number, or a tensor."""
    if min is None and max is None:
        raise ValueError("clamp(): give min, max, or both")
    x = x if min is None else at_least(x, min)
    return x if max is None else at_most(x, max)


@op(method=False)
def at_least(xp, x, bound, out=None):
    """The larger of x and the bound; where they are equal, the gradient is x's."""
    return xp.maximum(x, bound, out=out)


@op(method=False)
def at_most(xp, x, bound, out=None):
    """The smaller of x and the bound; where they are equal, the gradient is x's."""
    return xp.minimum(x, bound, out=out)


@at_least.gradient("x")
def _(g, x, bound):
    return g * (x >= bound)


@at_least.gradient("bound")
def _(g, x, bound):
    return g * (x < bound)


@at_most.gradient("x")
def _(g, x, bound):
    return g * (x <= bound)


@at_most.gradient("bound")
def _(g, x, bound):
    return g * (x > bound)


# -- comparison and logic ---------------------------------------------------------------------


@op(operators=("__eq__",), result="bool")
def eq(xp, x, y):
    """x = y."""
    return xp.equal(x, y)


@op(operators=("__ne__",), result="bool")
def ne(xp, x, y):
    """x ≠ y."""
    return xp.not_equal(x, y)


@op(operators=("__lt__",), result="bool")
def lt(xp, x, y):
    """x < y."""
    return xp.less(x, y)


@op(operators=("__le__",), result="bool")
def le(xp, x, y):
    """x ≤ y."""
    return xp.less_equal(x, y)


@op(operators=("__gt__",), result="bool")
def gt(xp, x, y):
    """x > y."""
    return xp.greater(x, y)


@op(operators=("__ge__",), result="bool")
def ge(xp, x, y):
    """x ≥ y."""
    return xp.greater_equal(x, y)


@op(result="bool")
def logical_not(xp, x):
    """True where x is 0."""
    return xp.logical_not(x)


@op(result="bool")
def logical_and(xp, x, y):
    """True where neither is 0."""
    return xp.logical_and(x, y)


@op(result="bool")
def logical_or(xp, x, y):
    """True where one is not 0."""
    return xp.logical_or(x, y)


@op(result="bool")
def isnan(xp, x):
    """True where x is not a number."""
    return xp.isnan(x)


@op(result="bool")
def isfinite(xp, x):
    """True where x is neither infinite nor NaN."""
    return xp.isfinite(x)


# -- copies -----------------------------------------------------------------------------------


@op()
def clone(xp, x):
    """A copy with memory of its own."""
    return x.copy()


@clone.gradient
def _(g):
    return g


@op()
def assign(xp, x, y):
    """y in x's shape; its in-place form is `copy_`."""
    return xp.broadcast_to(y, x.shape)


@assign.gradient("x")
def _(g):
    return g * 0


@assign.gradient("y")
def _(g):
    return g


# -- for optimizers: three-operand updates ----------------------------------------------------


@op()
def addcmul(xp, x, y, z, value: float = 1):
    """x + value · y · z."""
    return x + value * y * z


@addcmul.gradient
def _(g, y, z, value):
    return g, g * z * value, g * y * value


@op(floats=True, domain=(0.5, 2.0))
def addcdiv(xp, x, y, z, value: float = 1):
    """x + value · y / z."""
    return x + value * y / z


@addcdiv.gradient
def _(g, y, z, value):
    return g, g / z * value, -g * y / (z * z) * value


@op()
def lerp(xp, x, y, weight):
    """x + weight · (y − x)."""
    return x + weight * (y - x)


@lerp.gradient
def _(g, x, y, weight):
    return g * (1 - weight), g * weight, g * (y - x)


def _erf(xp: Any, x: Any) -> Any:
    """Cody's three intervals: |x| ≤ ½ by x·P(x²)/Q(x²), up to 4 and beyond by 1 − e^(−x²)·R(x)."""
    a = xp.abs(x)
    square = x * x
    near = x * _ratio(square, _ERF_P, _ERF_Q)
    middle = xp.minimum(a, 4.0)
    tail = xp.exp(-middle * middle) * _ratio(middle, _ERFC_P, _ERFC_Q)
    far = xp.where(a > 4.0, 1.0, 1.0 - tail)
    # Beyond 4, erfc is below 1.6e-8: it matters in double precision only.
    beyond = xp.minimum(xp.maximum(a, 4.0), 6.0)
    inverse = 1 / (beyond * beyond)
    last = xp.exp(-beyond * beyond) / beyond * (1 / math.sqrt(math.pi) - inverse * _ratio(inverse, _ERFC_R, _ERFC_S))
    far = xp.where(a > 4.0, 1.0 - last, far)
    return xp.where(xp.isnan(x), x, xp.where(a <= 0.46875, near, xp.copysign(far, x))).astype(x.dtype, copy=False)


def _ratio(x: Any, numerator: tuple[float, ...], denominator: tuple[float, ...]) -> Any:
    top = bottom = 0.0 * x
    for coefficient in numerator:
        top = top * x + coefficient
    for coefficient in denominator:
        bottom = bottom * x + coefficient
    return top / bottom


_ERF_P = (
    1.85777706184603153e-1,
    3.16112374387056560e0,
    1.13864154151050156e2,
    3.77485237685302021e2,
    3.20937758913846947e3,
)
_ERF_Q = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)
_ERFC_P = (
    2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1, 2.98635138197400131e2,
    8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3,
)  # fmt: skip
_ERFC_Q = (
    1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
    3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
)  # fmt: skip
_ERFC_R = (
    1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
    1.60837851487422766e-2, 6.58749161529837803e-4,
)  # fmt: skip
_ERFC_S = (
    1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
    2.33520497626869185e-3,
)  # fmt: skip
