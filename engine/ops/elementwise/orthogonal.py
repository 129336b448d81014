"""Orthogonal polynomials of arrays, by their recurrences (Abramowitz and Stegun, 22.7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Step = Callable[[int], tuple[float, float, float]]

FAMILIES: Final[dict[str, tuple[tuple[float, float], Step]]] = {
    "chebyshev_t": ((1, 0), lambda n: (2, 0, 1)),
    "chebyshev_u": ((2, 0), lambda n: (2, 0, 1)),
    "chebyshev_v": ((2, -1), lambda n: (2, 0, 1)),
    "chebyshev_w": ((2, 1), lambda n: (2, 0, 1)),
    "shifted_chebyshev_t": ((2, -1), lambda n: (4, -2, 1)),
    "shifted_chebyshev_u": ((4, -2), lambda n: (4, -2, 1)),
    "shifted_chebyshev_v": ((4, -3), lambda n: (4, -2, 1)),
    "shifted_chebyshev_w": ((4, -1), lambda n: (4, -2, 1)),
    "hermite_h": ((2, 0), lambda n: (2, 0, 2 * n)),
    "hermite_he": ((1, 0), lambda n: (1, 0, n)),
    "laguerre_l": ((-1, 1), lambda n: (-1 / (n + 1), (2 * n + 1) / (n + 1), n / (n + 1))),
    "legendre_p": ((1, 0), lambda n: ((2 * n + 1) / (n + 1), 0, n / (n + 1))),
}
"""Coefficients of degree 1, a x + b, and of the recurrence from n to n + 1: (a x + b) pₙ − c pₙ₋₁."""


def polynomial(xp: Any, x: Any, degree: Any, family: str, order: int) -> Any:
    """Derivative of the given order of the polynomial. The degree may differ by element; negative degrees give 0."""
    dtype = x.dtype
    degree = xp.trunc(xp.asarray(degree))
    x, degree = xp.broadcast_arrays(x.astype(xp.float64), degree)
    last = int(degree.max()) if degree.size else 0
    first, step = FAMILIES[family]
    zero = xp.zeros_like(x)
    before = [xp.ones_like(x), *[zero] * order]
    now = _next(x, before, [zero] * (order + 1), (*first, 0.0))
    result = xp.where(degree == 0, before[order], zero)
    for n in range(1, last + 1):
        result = xp.where(degree == n, now[order], result)
        before, now = now, _next(x, now, before, step(n)) if n < last else now
    return result.astype(dtype)


def _next(x: Any, now: list[Any], before: list[Any], factors: tuple[float, float, float]) -> list[Any]:
    """Polynomial of the next degree and its derivatives, by Leibniz's rule."""
    a, b, c = factors
    return [
        (a * x + b) * now[k] + (k * a * now[k - 1] if k else 0) - c * before[k]
        for k in range(len(now))
    ]  # fmt: skip
