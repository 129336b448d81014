"""Random numbers as functions of a state, so that a compiled plan draws the same numbers as a generator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.dtypes import DType, float32, float64
from engine.errors import DTypeError
from engine.random.philox import MASK, State, draw, high_product, high_product_128, order_of, unit32, unit64

# -- numbers at a state ---------------------------------------------------------------------------


def words_of_uniform(count: int, dtype: DType) -> int:
    """Return the number of words that `count` uniform numbers take."""
    return (count + 1) // 2 if is_single(dtype) else count


def words_of_normal(count: int, dtype: DType) -> int:
    """Return the number of words that `count` normal numbers take, which are drawn in pairs."""
    return (count + 1) // 2 if is_single(dtype) else count + count % 2


def words_of_integer(span: int) -> int:
    """Return the number of words per integer of a range of `span`."""
    return 1 if span <= 2**32 else 2


def uniform_at(state: State, count: int, dtype: DType, low: float = 0.0, high: float = 1.0) -> NDArray[Any]:
    """Draw `count` numbers uniformly from [low, high). Rounding to the dtype may reach `high`."""
    values = unit32(_halves(state, count)) if is_single(dtype) else unit64(draw(state, count))
    if (low, high) != (0.0, 1.0):
        values *= high - low
        values += low
    return values.astype(dtype.numpy, copy=False)


def normal_at(state: State, count: int, dtype: DType, mean: float = 0.0, std: float = 1.0) -> NDArray[Any]:
    """Draw `count` numbers from the normal distribution by the Box-Muller transform."""
    radius, angle = _polar32(state, count) if is_single(dtype) else _polar64(state, count)
    values = np.empty((len(radius), 2), radius.dtype)
    np.multiply(radius, np.cos(angle), out=values[:, 0])
    np.multiply(radius, np.sin(angle), out=values[:, 1])
    values = values.reshape(-1)[:count]
    if (mean, std) != (0.0, 1.0):
        values *= std
        values += mean
    return values.astype(dtype.numpy, copy=False)


def integers_at(state: State, count: int, low: int, high: int) -> NDArray[np.int64]:
    """Draw `count` int64 numbers uniformly from low, …, high - 1."""
    span = high - low
    words = words_of_integer(span)
    bits = draw(state, words * count)
    below = high_product(bits, span) if words == 1 else high_product_128(bits.reshape(count, words), span)
    return (below + np.uint64(low & MASK)).view(np.int64)


def is_single(dtype: DType) -> bool:
    """Return whether numbers of `dtype` are made from half words. float16 is rounded from float32."""
    if not dtype.is_floating_point:
        raise DTypeError(f"dtype must be floating-point, not {dtype.name}")
    return dtype is not float64


def _halves(state: State, count: int) -> NDArray[np.uint32]:
    """Draw `count` half words, the low half of each word first."""
    return draw(state, (count + 1) // 2).astype("<u8", copy=False).view("<u4")[:count]


def _polar32(state: State, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    pairs = _halves(state, count + count % 2).reshape(-1, 2).astype(np.float32)
    pairs *= np.float32(2**-32)
    # float32 cannot represent h + 1 for large h; adding 2**-32 afterwards keeps the logarithm finite at h = 0.
    radius = np.sqrt(np.float32(-2) * np.log(pairs[:, 0] + np.float32(2**-32)))
    return radius, pairs[:, 1] * np.float32(2 * math.pi)


def _polar64(state: State, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    pairs = unit64(draw(state, count + count % 2)).reshape(-1, 2)
    radius = np.sqrt(-2 * np.log(pairs[:, 0] + 2**-53))
    return radius, pairs[:, 1] * (2 * math.pi)


# -- distributions by name ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Distribution:
    """Random numbers with two parameters."""

    words: Callable[[int, DType, Any, Any], int]
    """Words that a draw takes: number of elements, dtype, the two parameters."""
    draw: Callable[[State, int, DType, Any, Any], NDArray[Any]]
    """The numbers, in any dtype: state, number of elements, dtype, the two parameters."""


def _working_dtype(dtype: DType) -> DType:
    """Return the dtype to compute in for a result of `dtype`."""
    return float64 if dtype is float64 else float32


def _of_uniform(
    transform: Callable[[NDArray[Any], Any, Any], NDArray[Any]], computed_in: Callable[[DType], DType] = _working_dtype
) -> Distribution:
    """A distribution whose numbers are functions of uniform ones."""
    return Distribution(
        lambda count, dtype, first, second: words_of_uniform(count, computed_in(dtype)),
        lambda state, count, dtype, first, second: transform(
            uniform_at(state, count, computed_in(dtype)), first, second
        ),
    )


DISTRIBUTIONS: Mapping[str, Distribution] = {
    "uniform": Distribution(lambda count, dtype, low, high: words_of_uniform(count, dtype), uniform_at),
    "normal": Distribution(lambda count, dtype, mean, std: words_of_normal(count, dtype), normal_at),
    "log_normal": Distribution(
        lambda count, dtype, mean, std: words_of_normal(count, _working_dtype(dtype)),
        lambda state, count, dtype, mean, std: np.exp(normal_at(state, count, _working_dtype(dtype), mean, std)),
    ),
    "exponential": _of_uniform(lambda u, rate, _: -np.log1p(-u) / rate),
    "cauchy": _of_uniform(lambda u, median, sigma: median + sigma * np.tan(math.pi * (u - 0.5)), lambda _: float64),
    "geometric": _of_uniform(lambda u, p, _: np.floor(np.log1p(-u) * (1 / math.log1p(-p))) + 1, lambda _: float64),
    "bernoulli": _of_uniform(lambda u, p, _: u < p, lambda _: float32),
    "integers": Distribution(
        lambda count, dtype, low, high: words_of_integer(high - low) * count,
        lambda state, count, dtype, low, high: integers_at(state, count, low, high),
    ),
    "permutation": Distribution(
        lambda count, dtype, first, second: count,
        lambda state, count, dtype, first, second: order_of(draw(state, count)),
    ),
}
"""Distributions by name. Parameters without a meaning are 0."""

__all__ = [
    "DISTRIBUTIONS",
    "Distribution",
    "integers_at",
    "normal_at",
    "uniform_at",
    "words_of_integer",
    "words_of_normal",
    "words_of_uniform",
]
