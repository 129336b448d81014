"""The methods that fill a tensor with random numbers: `uniform_` and the like."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import dtypes, random
from engine.backend import CPU
from engine.dtypes import DType
from engine.errors import DTypeError, RangeError
from engine.random import Generator
from engine.tensors.storage import Storage
from engine.tensors.tensor import Tensor

Draw = Callable[[Generator, tuple[int, ...]], Any]


def new_like(x: Tensor) -> Tensor:
    """Memory like that of `x`, in no graph."""
    return x.detach().new_empty(tuple(x.shape))


def _fill(x: Tensor, draw: Draw, generator: Generator | None) -> Tensor:
    """Writes as many numbers as `x` has; autograd sees them as constants."""
    if x.is_meta:
        return x.copy_(new_like(x))
    array = np.asarray(draw(generator or random.default_generator, tuple(x.shape)))
    with np.errstate(over="ignore"):
        drawn = array.astype(x.dtype.numpy, copy=False)
    return x.copy_(Tensor(drawn, Storage(CPU)).to(x.device))


def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with numbers drawn evenly from [from_, to)."""
    check_fraction("uniform_", self)
    if from_ > to:
        raise RangeError(f"uniform_(): the lower bound {from_} is above the upper one {to}")
    return _fill(self, lambda g, shape: g.uniform(shape, self.dtype, from_, to), generator)


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with normal numbers."""
    check_fraction("normal_", self)
    _check("normal_", std >= 0, f"the standard deviation cannot be negative, as {std}")
    return _fill(self, lambda g, shape: g.normal(shape, self.dtype, mean, std), generator)


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with numbers whose logarithms are normal."""
    check_fraction("log_normal_", self)
    _check("log_normal_", std > 0, f"the standard deviation must be positive, not {std}")
    return _fill(self, lambda g, shape: np.exp(g.normal(shape, _precise(self.dtype), mean, std)), generator)


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with waiting times of rate `lambd`."""
    check_fraction("exponential_", self)
    _check("exponential_", lambd > 0, f"the rate must be positive, not {lambd}")
    return _fill(self, lambda g, shape: -np.log1p(-g.uniform(shape, _precise(self.dtype))) / lambd, generator)


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with numbers of the Cauchy distribution."""
    check_fraction("cauchy_", self)
    _check("cauchy_", sigma > 0, f"sigma must be positive, not {sigma}")
    return _fill(
        self, lambda g, shape: median + sigma * np.tan(math.pi * (g.uniform(shape, dtypes.float64) - 0.5)), generator
    )


def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with the number of trials up to the first success, whose probability is `p`."""
    _check("geometric_", 0 < p < 1, f"p must be between 0 and 1, not {p}")
    scale = 1 / math.log1p(-p)
    return _fill(self, lambda g, shape: np.floor(np.log1p(-g.uniform(shape, dtypes.float64)) * scale) + 1, generator)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with ones, with probability `p`, a number or a tensor of them, and zeros."""
    chance = p
    if isinstance(p, Tensor):
        check_fraction("bernoulli_", p)
        if p.is_meta or self.is_meta:
            return self.copy_(new_like(self))
        chance = np.broadcast_to(p.detach().cpu().double().numpy(), tuple(self.shape))
    _check("bernoulli_", bool(np.all((np.asarray(chance) >= 0) & (np.asarray(chance) <= 1))), "p must be from 0 to 1")
    return _fill(self, lambda g, shape: g.uniform(shape, dtypes.float32) < chance, generator)


def bernoulli_method(self: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that stands at each place, or with probability `p` everywhere; else 0."""
    return bernoulli_(new_like(self), self if p is None else p, generator=generator)


def random_(
    self: Tensor, from_: int | None = None, to: int | None = None, *, generator: Generator | None = None
) -> Tensor:
    """Fills the tensor with whole numbers: `random_(to)`, `random_(from_, to)`, or all that its dtype can hold."""
    if to is None:
        from_, to = 0, _most(self.dtype) + 1 if from_ is None else from_
    first, last = from_ or 0, to
    check_limits("random_", first, last, self.dtype)
    return _fill(self, lambda g, shape: g.integers(first, last, shape), generator)


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


def _precise(dtype: DType) -> DType:
    """What to compute in, for a result of `dtype`."""
    return dtypes.float64 if dtype is dtypes.float64 else dtypes.float32


def _most(dtype: DType) -> int:
    """The largest number up to which `dtype` has every whole number."""
    if dtype.kind == 2:
        return {8: 2**53, 4: 2**24, 2: 2**8 if dtype is dtypes.bfloat16 else 2**11}[dtype.itemsize]
    return 1 if dtype is dtypes.bool_ else min(int(np.iinfo(dtype.numpy).max), 2**63 - 1)


def check_fraction(name: str, x: Tensor) -> None:
    """Raises DTypeError for a tensor of whole numbers."""
    if not x.is_floating_point():
        raise DTypeError(
            f"{name}() needs a floating-point tensor, not {x.dtype.name}.", in_code="Convert with .float()."
        )


def check_limits(name: str, low: int, high: int, dtype: DType) -> None:
    """Raises RangeError unless there are whole numbers of `dtype` from low to below high."""
    if low >= high:
        raise RangeError(f"{name}(): there is no whole number from {low} to below {high}")
    if dtype.kind == 2:
        return
    limits = (0, 1) if dtype is dtypes.bool_ else (int(np.iinfo(dtype.numpy).min), int(np.iinfo(dtype.numpy).max))
    if low < limits[0] or high - 1 > limits[1]:
        raise RangeError(f"{name}(): {dtype.name} has numbers from {limits[0]} to {limits[1]}, not {low} to {high - 1}")


def _check(name: str, good: bool, problem: str) -> None:
    if not good:
        raise RangeError(f"{name}(): {problem}")
