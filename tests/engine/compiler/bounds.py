"""Numbers with a bound on how far any way of computing them in floats may be off, whatever the order of its sums.

Each op takes the bounds of its operands along, rigorously: a monotone function by its values at both ends of an
interval, a sum of n numbers by Higham's (n - 1)u times the sum of their magnitudes, which holds for each order of
adding up ("Accuracy and stability of numerical algorithms", 2002, section 4.2). To that comes the rounding of the op
itself: half a unit in the last place for + - * / and √, two units for functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

FUNCTION = 2.0
"""Error bound of exp, log, tanh and similar functions in units in the last place, in NumPy and in kernels."""
SMALLEST = 1e-40
"""What rounding costs near 0, where floats are not denser than this."""


class Bounded:
    """A value in double precision and a bound on how far an array in a coarser one is from it."""

    unit = 2.0**-24
    """Half a unit in the last place of 1, of the floats that are judged."""

    def __init__(self, value: Any, error: Any = 0.0) -> None:
        self.value = np.asarray(value, np.float64)
        self.error = np.broadcast_to(np.asarray(error, np.float64), self.value.shape)

    @property
    def magnitude(self) -> Any:
        return np.abs(self.value) + self.error

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    def rounded(self, units: float = 0.5) -> Bounded:
        # A unit in the last place is at most 2u times the number; double precision has a separate bound.
        share = 2 * units * self.unit + 2.0**-50
        return Bounded(self.value, self.error * (1 + share) + share * np.abs(self.value) + SMALLEST)

    def monotone(self, f: Callable[[Any], Any], units: float = FUNCTION) -> Bounded:
        """A function that nowhere turns: it takes an interval to the interval between the images of its ends."""
        value, low, high = f(self.value), f(self.value - self.error), f(self.value + self.error)
        return Bounded(value, np.maximum(np.abs(low - value), np.abs(high - value))).rounded(units)

    # -- arithmetic

    def __add__(self, other: Any) -> Bounded:
        other = bounded(other)
        return Bounded(self.value + other.value, self.error + other.error).rounded()

    def __sub__(self, other: Any) -> Bounded:
        other = bounded(other)
        return Bounded(self.value - other.value, self.error + other.error).rounded()

    def __mul__(self, other: Any) -> Bounded:
        other = bounded(other)
        error = np.abs(self.value) * other.error + self.error * np.abs(other.value) + self.error * other.error
        return Bounded(self.value * other.value, error).rounded()

    def __truediv__(self, other: Any) -> Bounded:
        other = bounded(other)
        away = np.maximum(np.abs(other.value) - other.error, 0)
        value = self.value / other.value
        with np.errstate(divide="ignore", invalid="ignore"):
            error = (self.error + np.abs(value) * other.error) / away
        return Bounded(value, np.where(np.isnan(error), np.inf, error)).rounded()

    def __neg__(self) -> Bounded:
        return Bounded(-self.value, self.error)

    __radd__ = __add__
    __rmul__ = __mul__

    # -- functions

    def exp(self) -> Bounded:
        return self.monotone(np.exp)

    def tanh(self) -> Bounded:
        return self.monotone(np.tanh)

    def sigmoid(self) -> Bounded:
        return self.monotone(lambda x: 1 / (1 + np.exp(-x)), 2 * FUNCTION)

    def log(self) -> Bounded:
        return self.monotone(lambda x: np.log(np.maximum(x, 1e-300)))

    def sqrt(self) -> Bounded:
        return self.monotone(lambda x: np.sqrt(np.maximum(x, 0)), 0.5)

    def rsqrt(self) -> Bounded:
        return self.monotone(lambda x: 1 / np.sqrt(np.maximum(x, 1e-300)), FUNCTION)

    def relu(self) -> Bounded:
        return Bounded(np.maximum(self.value, 0), self.error)

    def abs(self) -> Bounded:
        return Bounded(np.abs(self.value), self.error)

    def square(self) -> Bounded:
        return self * self

    def clamp(self, low: float, high: float) -> Bounded:
        return Bounded(np.clip(self.value, low, high), self.error)

    def maximum(self, other: Bounded) -> Bounded:
        return Bounded(np.maximum(self.value, other.value), np.maximum(self.error, other.error))

    # -- reductions and products

    def sum(self, dim: int, keepdim: bool = True) -> Bounded:
        count = self.value.shape[dim]
        reach = self.magnitude.sum(dim, keepdims=keepdim)
        error = self.error.sum(dim, keepdims=keepdim) + _gamma(count, self.unit) * reach
        return Bounded(self.value.sum(dim, keepdims=keepdim), error).rounded()

    def mean(self, dim: int, keepdim: bool = True) -> Bounded:
        return self.sum(dim, keepdim) / float(self.value.shape[dim])

    def amax(self, dim: int, keepdim: bool = True) -> Bounded:
        return Bounded(self.value.max(dim, keepdims=keepdim), self.error.max(dim, keepdims=keepdim))

    def matmul(self, other: Bounded) -> Bounded:
        count = self.value.shape[-1]
        reach = self.magnitude @ other.magnitude
        error = np.abs(self.value) @ other.error + self.error @ other.magnitude + _gamma(count, self.unit) * reach
        return Bounded(self.value @ other.value, error).rounded()

    # -- views

    def transpose(self) -> Bounded:
        return Bounded(self.value.T, self.error.T)

    def narrow(self, dim: int, start: int, length: int) -> Bounded:
        index = [slice(None)] * self.value.ndim
        index[dim] = slice(start, start + length)
        return Bounded(self.value[tuple(index)], self.error[tuple(index)])


def bounded(value: Any) -> Bounded:
    """Python's numbers are rounded to the tensors' dtype."""
    return value if isinstance(value, Bounded) else Bounded(float(value)).rounded()


def _gamma(count: int, unit: float) -> float:
    # Products are rounded before they are added, and so are the lanes that a sum begins with.
    return (count + 1) * unit / (1 - (count + 1) * unit)


__all__ = ["Bounded", "bounded"]
