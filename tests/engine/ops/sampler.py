"""Arguments to try each op with: those that its record lists, or those that follow from its kind."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.ops.record import Op

_BROADCAST = (((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (3,)), ((0, 3), (3,)), ((2, 1, 3), (4, 1)))


class Sampler:
    """Seeded NumPy arrays; what the records' `sample` functions draw from."""

    def __init__(self, seed: int = 0, dtype: Any = np.float64, domain: tuple[float, float] | None = None) -> None:
        self.random = np.random.default_rng(seed)
        self.dtype = dtype
        self.domain = domain

    def normal(self, *shape: int) -> Any:
        if self.domain is not None:
            return np.asarray(self.random.uniform(*self.domain, shape), self.dtype)
        return np.asarray(self.random.normal(size=shape), self.dtype)

    def distinct(self, *shape: int) -> Any:
        """No two elements closer than 0.1, so that a finite difference changes no order."""
        return np.asarray(self.random.permutation(math.prod(shape)).reshape(shape) * 0.1, self.dtype)

    def integers(self, high: int, *shape: int) -> Any:
        return self.random.integers(0, high, shape)

    def permutation(self, n: int) -> Any:
        return self.random.permutation(n)


def samples(op: Op, dtype: Any = np.float64) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """(args, kwargs) to call the op's function with; arrays stand for tensors."""
    sampler = Sampler(dtype=dtype, domain=op.domain)
    if op.sample is not None:
        found = [item if isinstance(item[-1], dict) else (item, {}) for item in op.sample(sampler)]
    elif op.kind == "elementwise":
        found = _elementwise(op, sampler)
    elif op.kind == "reduce":
        found = _reduce(op, sampler)
    else:
        raise AssertionError(f"op {op.name} needs a sample= in its record")
    return [((list(args),) if op.variadic else args, kwargs) for args, kwargs in found]


def _elementwise(op: Op, s: Sampler) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    draw = s.distinct if op.name in ("maximum", "minimum") else s.normal
    if len(op.inputs) == 1:
        return [((draw(*shape),), {}) for shape in ((3, 4), (), (0, 2), (2, 1, 3))] + [((draw(4, 3).T,), {})]
    if op.name == "assign":
        return [((draw(3, 4), draw(4)), {}), ((draw(3, 4), draw(3, 4)), {})]
    if op.name == "select":
        return [((np.asarray(s.random.normal(size=a) > 0), draw(*a), draw(*b)), {}) for a, b in _BROADCAST]
    pairs = [(tuple(draw(*shapes[i % 2]) for i in range(len(op.inputs))), {}) for shapes in _BROADCAST]
    return [*pairs, ((draw(3, 2), *(2.0 for _ in op.inputs[1:])), {})]


def _reduce(op: Op, s: Sampler) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    if "largest" in op.static_names:
        return [
            ((s.distinct(3, 4, 2),), {"dim": dim, "keepdim": keep, "largest": largest})
            for dim, keep, largest in ((0, False, True), (-1, True, False), (1, False, False))
        ]
    dims: list[Any] = [None, 0, -1]
    if op.name not in ("argmax", "argmin"):
        dims += [(0, 2)]
    return [((s.distinct(3, 4, 2) + 0.5,), {"dim": dim, "keepdim": keep}) for dim in dims for keep in (False, True)]
