"""Batches on which the code of a Node is tried: real ones, and random and special values of other shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine.shape import Dim, Spec
from studio.lowering.user_code.graph_breaks.code_trial import SEED, Batch

_SIZES = (5, 7)
"""Batch sizes: no sizes that a network usually has."""


def trial_batches(inputs: Mapping[str, Spec], real: Sequence[Mapping[str, Any]] = ()) -> list[Batch]:
    """The batches for a node.

    Args:
        inputs: its inputs, with a symbolic batch size
        real: arrays by input, from the data of the project
    """
    return [
        *(Batch(f"batch {number} of the data", arrays) for number, arrays in enumerate(real, start=1)),
        *_made(inputs),
    ]


def _made(inputs: Mapping[str, Spec]) -> Iterator[Batch]:
    random = np.random.default_rng(SEED)
    first, second = _SIZES
    normal = {name: _normal(spec, first, random) for name, spec in inputs.items()}
    yield Batch("random values", normal)
    yield Batch("another batch size", {name: _normal(spec, second, random) for name, spec in inputs.items()})
    yield Batch("a single sample", {name: _normal(spec, 1, random) for name, spec in inputs.items()})
    yield Batch("positive values", {name: np.abs(each) for name, each in normal.items()})
    yield Batch("negative values", {name: -np.abs(each) for name, each in normal.items()})
    yield Batch("zeros", {name: np.zeros_like(each) for name, each in normal.items()})
    yield Batch("large values", {name: (each * 100).astype(each.dtype) for name, each in normal.items()})
    yield Batch("small values", {name: (each / 1000).astype(each.dtype) for name, each in normal.items()})
    for label, value in (("NaN", np.nan), ("infinity", np.inf)):
        yield Batch(label, {name: _with(each, value) for name, each in normal.items()}, has_gradients=False)


def _normal(spec: Spec, batch: int, random: np.random.Generator) -> Any:
    shape = tuple(int(size.at(batch)) if isinstance(size, Dim) else int(size) for size in spec.shape)
    dtype = np.dtype(spec.dtype.name)
    if spec.dtype.is_floating_point:
        return np.asarray(random.normal(size=shape)).astype(dtype)
    return np.asarray(random.integers(0, 2 if dtype.kind == "b" else 4, size=shape)).astype(dtype)


def _with(array: Any, value: float) -> Any:
    """A copy with a value in the first and the last element."""
    if array.dtype.kind != "f" or not array.size:
        return array
    changed = array.copy()
    changed.flat[0] = changed.flat[-1] = value
    return changed


__all__ = ["trial_batches"]
