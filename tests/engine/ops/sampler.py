"""Test arguments of each op: samples of its record, or defaults for its kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import engine
from engine.ops.composite import COMPOSITES, Composite
from engine.ops.record import Op

Call: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments; arrays stand for tensors."""

_BROADCAST = (((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (3,)), ((0, 3), (3,)), ((2, 1, 3), (4, 1)))


class Sampler:
    """Seeded generator of NumPy arrays for the `sample` functions of records."""

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
        """Array with elements at least 0.1 apart, so that finite differences do not change their order."""
        return np.asarray(self.random.permutation(math.prod(shape)).reshape(shape) * 0.1).astype(self.dtype)

    def repeated(self, *shape: int) -> Any:
        """Array with few different numbers, for the order of equal elements."""
        return np.asarray(self.random.integers(-2, 3, shape)).astype(self.dtype)

    def integers(self, high: int, *shape: int) -> Any:
        return np.asarray(self.random.integers(0, high, shape))

    def booleans(self, *shape: int) -> Any:
        return np.asarray(self.random.integers(0, 2, shape) > 0)

    def permutation(self, n: int) -> Any:
        return self.random.permutation(n)

    # -- default calls by kind

    def unary(self, low: float | None = None, high: float = 0.0) -> list[Call]:
        """Calls with one tensor between `low` and `high`: of several shapes, 0-d, empty and non-contiguous."""

        def draw(*shape: int) -> Any:
            return self.normal(*shape) if low is None else self.uniform(low, high, *shape)

        return [((draw(*shape),), {}) for shape in ((3, 4), (), (0, 2), (2, 1, 3))] + [((draw(4, 3).T,), {})]

    def binary(self, inputs: int = 2, numbers: bool = True) -> list[Call]:
        """Calls with tensors that broadcast, and with numbers for all inputs except the first."""
        pairs = [(tuple(self.normal(*shapes[i % 2]) for i in range(inputs)), {}) for shapes in _BROADCAST]
        return [*pairs, ((self.normal(3, 2), *(2.0 for _ in range(inputs - 1))), {})] if numbers else pairs

    def reduced(self, several: bool = True) -> list[Call]:
        """Calls that reduce one tensor over all, one or several dimensions."""
        dims: list[Any] = [None, 0, -1, *([(0, 2)] if several else [])]
        return [((self.distinct(3, 4, 2) + self.dtype(0.5),), {"dim": dim, "keepdim": keep}) for dim in dims
                for keep in (False, True)]  # fmt: skip


def _positive_definite(s: Sampler) -> Any:
    x = s.normal(3, 3)
    return x @ x.T + 3 * np.eye(3, dtype=s.dtype)


def _with_nan(s: Sampler) -> Any:
    x = s.normal(3, 4)
    x[1, 2] = np.nan
    return x


_PAIR = ((3, 4), (4,))
OPTIONS: dict[str, Callable[[Sampler], list[Any]]] = {
    **dict.fromkeys(
        ("addcmul", "addcdiv"), lambda s: [(s.normal(3, 4), s.normal(4), s.uniform(1, 2, 3, 1), {"value": 2})]
    ),
    **dict.fromkeys(("add", "sub", "rsub"), lambda s: [(*(s.normal(*shape) for shape in _PAIR), {"alpha": 2})]),
    **dict.fromkeys(("isclose", "allclose"), lambda s: [(x := _with_nan(s), x + s.dtype(0), {"equal_nan": True})]),
    **dict.fromkeys(
        ("sum", "mean", "prod", "nansum", "nanmean", "cumsum", "cumprod"),
        lambda s: [(s.normal(3, 4), {"dim": 1, "dtype": engine.float64})],
    ),
    **dict.fromkeys(("sort", "argsort"), lambda s: [(s.repeated(3, 9), {"dim": 1, "stable": False})]),
    **dict.fromkeys(("cholesky", "cholesky_inverse"), lambda s: [(_positive_definite(s), {"upper": True})]),
    "bucketize": lambda s: [(s.normal(5), np.sort(s.normal(4)), {"out_int32": True, "right": True})],
    "cdist": lambda s: [(s.normal(3, 2), s.normal(4, 2), {"compute_mode": "donot_use_mm_for_euclid_dist"})],
    "cholesky_solve": lambda s: [(s.normal(3, 2), np.linalg.cholesky(_positive_definite(s)).T, {"upper": True})],
    "cov": lambda s: [
        (s.normal(2, 4), {"fweights": np.array([1, 2, 1, 3]), "aweights": s.uniform(0.5, 1, 4), "correction": 0})
    ],
    "cross": lambda s: [(s.normal(3, 4, 3), s.normal(3, 4, 3), {"dim": 0})],
    "diagonal_scatter": lambda s: [(s.normal(2, 3, 4), s.normal(2, 3), {"dim1": 1, "dim2": 2})],
    "relu_backward": lambda s: [(s.normal(3, 4), s.normal(3, 4), {"slope": slope}) for slope in (1.5, -0.5)],
    "isin": lambda s: [(s.integers(5, 3, 4), np.array([1, 3]), {"assume_unique": True, "invert": True})],
    "norm": lambda s: [(s.normal(3, 4), {"p": 3, "dim": 1, "keepdim": True, "dtype": engine.float64})],
    "pinverse": lambda s: [(s.normal(3, 4), {"rcond": 0.3})],
    "repeat_interleave": lambda s: [(s.normal(3, 2), np.array([1, 0, 2]), {"dim": 0, "output_size": 3})],
    "scatter_reduce": lambda s: [
        (s.normal(4), 0, np.array([0, 0, 1, 1, 2]), s.dtype([0, 2, 0, 0, 3]), "prod", {"include_self": own})
        for own in (True, False)
    ],
    "searchsorted": lambda s: [
        (x := s.distinct(5), s.normal(3), {"sorter": np.argsort(x), "right": True})
    ],
    "softplus": lambda s: [(s.normal(3, 4), {"beta": 2.0, "threshold": 1.0})],
    "lu_unpack": lambda s: [
        (s.normal(3, 3), np.array([2, 2, 3], np.int32), {name: False}) for name in ("unpack_data", "unpack_pivots")
    ],
    "triangular_solve": lambda s: [(s.normal(3, 2), s.normal(3, 3) + 3, {"transpose": True, "unitriangular": True})],
    "topk": lambda s: [(s.distinct(3, 5), 5, {"largest": False})],
    "unique": lambda s: [(s.repeated(9), {"return_counts": True, "return_inverse": True})],
}  # fmt: skip
"""Additional calls for options that the samples of the record leave at their defaults."""


def samples(record: Op | Composite, dtype: Any = np.float64) -> list[Call]:
    """Sample calls (args, kwargs) of a record's function, in PyTorch's argument order."""
    found = _declared(record, dtype)
    if record.name in OPTIONS and not (isinstance(record, Op) and record.name in COMPOSITES):
        found += [(tuple(args), kwargs) for *args, kwargs in OPTIONS[record.name](Sampler(dtype=dtype))]
    return found


def _declared(record: Op | Composite, dtype: Any) -> list[Call]:
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
