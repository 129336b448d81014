"""Tensor methods that fill with random numbers: `uniform_`, `normal_` and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine import dtypes, random
from engine.backend import CPU
from engine.dtypes import DType
from engine.errors import DTypeError, RangeError
from engine.modes import MODES
from engine.random import Generator, RandomNumbers
from engine.tensors.storage import Storage
from engine.tensors.tensor import Tensor


def new_like(x: Tensor) -> Tensor:
    """Return an uninitialized tensor like `x` without autograd history."""
    return x.detach().new_empty(tuple(x.shape))


def _fill(x: Tensor, generator: Generator | None, distribution: str, first: Any, second: Any = 0) -> Tensor:
    """Fill `x` with random numbers, which autograd treats as constants."""
    return x.copy_(_drawn_like(x, generator, distribution, first, second))


def _drawn_like(x: Tensor, generator: Generator | None, distribution: str, first: Any, second: Any = 0) -> Tensor:
    """Return random numbers with the shape, dtype and device of `x`."""
    if x.is_meta:
        return new_like(x)
    drawn = RandomNumbers(generator or random.default_generator, distribution, first, second)
    if MODES.fast_call is None and MODES.capture is not None:
        recorded = MODES.capture.random(tuple(x.shape), x.dtype.numpy, drawn, x.device)
        if recorded is not None:
            return recorded
    array = drawn.draw(tuple(x.shape), x.dtype)
    with np.errstate(over="ignore"):
        values = array.astype(x.dtype.numpy, copy=False)
    return Tensor(values, Storage(CPU)).to(x.device)


def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers from the uniform distribution on [from_, to)."""
    check_floating_point("uniform_", self)
    if from_ > to:
        raise RangeError(f"uniform_(): the lower bound {from_} is above the upper bound {to}")
    return _fill(self, generator, "uniform", from_, to)


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers from the normal distribution with `mean` and `std`."""
    check_floating_point("normal_", self)
    _check("normal_", std >= 0, f"the standard deviation cannot be negative: {std}")
    return _fill(self, generator, "normal", mean, std)


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers from the log-normal distribution; `mean` and `std` are those of the logarithm."""
    check_floating_point("log_normal_", self)
    _check("log_normal_", std > 0, f"the standard deviation must be positive, not {std}")
    return _fill(self, generator, "log_normal", mean, std)


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers from the exponential distribution with rate `lambd`."""
    check_floating_point("exponential_", self)
    _check("exponential_", lambd > 0, f"the rate must be positive, not {lambd}")
    return _fill(self, generator, "exponential", lambd)


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers from the Cauchy distribution."""
    check_floating_point("cauchy_", self)
    _check("cauchy_", sigma > 0, f"sigma must be positive, not {sigma}")
    return _fill(self, generator, "cauchy", median, sigma)


def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers from the geometric distribution: trials until the first success, of probability `p`."""
    _check("geometric_", 0 < p < 1, f"p must be between 0 and 1, not {p}")
    return _fill(self, generator, "geometric", p)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 with probability `p` (a number or a tensor), else 0."""
    return self.copy_(bernoulli_like(self, p, generator))


def bernoulli_like(x: Tensor, p: Any, generator: Generator | None) -> Tensor:
    """Return 1 with probability `p` (a number or a tensor), else 0, with the shape, dtype and device of `x`."""
    probability = p
    if isinstance(p, Tensor):
        check_floating_point("bernoulli_", p)
        if p.is_meta or x.is_meta:
            return new_like(x)
        probability = np.broadcast_to(p.detach().cpu().double().numpy(), tuple(x.shape)).reshape(-1)
    _check(
        "bernoulli_",
        bool(np.all((np.asarray(probability) >= 0) & (np.asarray(probability) <= 1))),
        "p must be from 0 to 1",
    )
    return _drawn_like(x, generator, "bernoulli", probability)


def bernoulli_method(self: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """Return 1 with the probability given by each element, or with probability `p`; else 0."""
    return bernoulli_like(self.detach(), self if p is None else p, generator)


def random_(
    self: Tensor, from_: int | None = None, to: int | None = None, *, generator: Generator | None = None
) -> Tensor:
    """Fill with random integers: `random_(to)`, `random_(from_, to)`, or the full range of the dtype."""
    if to is None:
        from_, to = 0, _largest_exact_integer(self.dtype) + 1 if from_ is None else from_
    first, last = from_ or 0, to
    check_limits("random_", first, last, self.dtype)
    return _fill(self, generator, "integers", first, last)


METHODS: dict[str, Callable[..., Tensor]] = {
    "bernoulli": bernoulli_method,
    "bernoulli_": bernoulli_,
    "cauchy_": cauchy_,
    "exponential_": exponential_,
    "geometric_": geometric_,
    "log_normal_": log_normal_,
    "normal_": normal_,
    "random_": random_,
    "uniform_": uniform_,
}


def _largest_exact_integer(dtype: DType) -> int:
    """Return the largest integer n such that `dtype` represents every integer up to n."""
    if dtype.kind == 2:
        return {8: 2**53, 4: 2**24, 2: 2**8 if dtype is dtypes.bfloat16 else 2**11}[dtype.itemsize]
    return 1 if dtype is dtypes.bool_ else min(int(np.iinfo(dtype.numpy).max), 2**63 - 1)


def check_floating_point(name: str, x: Tensor) -> None:
    """Raise DTypeError for a tensor with an integer dtype."""
    if not x.is_floating_point():
        raise DTypeError(
            f"{name}() needs a floating-point tensor, not {x.dtype.name}.", in_code="Convert with .float()."
        )


def check_limits(name: str, low: int, high: int, dtype: DType) -> None:
    """Raise RangeError unless [low, high) is not empty and within the range of `dtype`."""
    if low >= high:
        raise RangeError(f"{name}(): low must be less than high, but they are {low} and {high}")
    if dtype.kind == 2:
        return
    limits = (0, 1) if dtype is dtypes.bool_ else (int(np.iinfo(dtype.numpy).min), int(np.iinfo(dtype.numpy).max))
    if low < limits[0] or high - 1 > limits[1]:
        raise RangeError(f"{name}(): {dtype.name} ranges from {limits[0]} to {limits[1]}, not {low} to {high - 1}")


def _check(name: str, is_valid: bool, problem: str) -> None:
    if not is_valid:
        raise RangeError(f"{name}(): {problem}")
