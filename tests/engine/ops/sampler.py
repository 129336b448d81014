"""Arguments to try each op with: those that its record lists, or those that follow from its kind."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from engine.ops.composite import Composite
from engine.ops.record import Op

Call: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments; arrays stand for tensors."""

_BROADCAST = (((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (3,)), ((0, 3), (3,)), ((2, 1, 3), (4, 1)))


class Sampler:
    """Seeded NumPy arrays; what the records' `sample` functions draw from."""

    def __init__(self, seed: int = 0, dtype: Any = np.float64, domain: tuple[float, float] | None = None) -> None:
        self.random = np.random.default_rng(seed)
        self.dtype = dtype
        self.domain = domain

    def normal(self, *shape: int) -> Any:
        if self.domain is not None:
            return np.asarray(self.random.uniform(*self.domain, shape)).astype(self.dtype)
        return np.asarray(self.random.normal(size=shape)).astype(self.dtype)

    def uniform(self, low: float, high: float, *shape: int) -> Any:
        return np.asarray(self.random.uniform(low, high, shape)).astype(self.dtype)

    def distinct(self, *shape: int) -> Any:
        """No two elements closer than 0.1, so that a finite difference changes no order."""
        return np.asarray(self.random.permutation(math.prod(shape)).reshape(shape) * 0.1).astype(self.dtype)

    def repeated(self, *shape: int) -> Any:
        """Few different numbers: what is equal, and in which order equals come, matters."""
        return np.asarray(self.random.integers(-2, 3, shape)).astype(self.dtype)

    def integers(self, high: int, *shape: int) -> Any:
        return np.asarray(self.random.integers(0, high, shape))

    def booleans(self, *shape: int) -> Any:
        return np.asarray(self.random.integers(0, 2, shape) > 0)

    def permutation(self, n: int) -> Any:
        return self.random.permutation(n)

    # -- what functions of a kind are called with

    def unary(self, low: float | None = None, high: float = 0.0) -> list[Call]:
        """One tensor: with dimensions and without, empty, and not in order of memory; between `low` and `high`."""

        def draw(*shape: int) -> Any:
            return self.normal(*shape) if low is None else self.uniform(low, high, *shape)

        return [((draw(*shape),), {}) for shape in ((3, 4), (), (0, 2), (2, 1, 3))] + [((draw(4, 3).T,), {})]

    def binary(self, inputs: int = 2, numbers: bool = True) -> list[Call]:
        """Tensors whose shapes broadcast, and a number for all but the first."""
        pairs = [(tuple(self.normal(*shapes[i % 2]) for i in range(inputs)), {}) for shapes in _BROADCAST]
        return [*pairs, ((self.normal(3, 2), *(2.0 for _ in range(inputs - 1))), {})] if numbers else pairs

    def reduced(self, several: bool = True) -> list[Call]:
        """One tensor to reduce over everything, one dimension, or several."""
        dims: list[Any] = [None, 0, -1, *([(0, 2)] if several else [])]
        return [((self.distinct(3, 4, 2) + self.dtype(0.5),), {"dim": dim, "keepdim": keep}) for dim in dims
                for keep in (False, True)]  # fmt: skip


def samples(record: Op | Composite, dtype: Any = np.float64) -> list[Call]:
    """What to call the record's function with, in PyTorch's order of arguments."""
    sampler = Sampler(dtype=dtype, domain=record.domain if isinstance(record, Op) else None)
    if record.sample is not None:
        found: list[Call] = [item if isinstance(item[-1], dict) else (item, {}) for item in record.sample(sampler)]
    elif isinstance(record, Composite):
        raise AssertionError(f"{record.name} needs a sample= in its @composite")
    elif record.kind == "elementwise":
        found = _elementwise(record, sampler)
    elif record.kind == "reduce":
        found = sampler.reduced()
    else:
        raise AssertionError(f"op {record.name} needs a sample= in its record")
    if isinstance(record, Op) and record.variadic:
        return [((list(args),), kwargs) for args, kwargs in found]
    return found


def _elementwise(op: Op, s: Sampler) -> list[Call]:
    if len(op.inputs) == 1:
        return s.unary()
    return s.binary(len(op.inputs))
