"""Norms of many tensors in one call are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from engine.compiler.kernels.library.tensor_norms_kernel import ChangeNorms, TensorNorms
from engine.ops.reduction.tensor_norms import tensor_norms

SIZES = (1, 7, 8, 31, 32, 33, 16384, 16385, 50_003)


def arrays(seed: int, sizes: tuple[int, ...] = SIZES) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.normal(size=size).astype(np.float32) for size in sizes]


def norms_of(values: list[np.ndarray]) -> np.ndarray:
    out = np.empty(len(values), np.float32)
    TensorNorms([each.size for each in values])(*values, out)
    return out


def test_norms_of_all_sizes() -> None:
    values = arrays(0)
    assert norms_of(values) == pytest.approx(tensor_norms.kernel(np, *values), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e20, 1e30])
def test_squares_are_neither_lost_nor_infinite(scale: float) -> None:
    [values] = arrays(1, (40_000,))
    values *= np.float32(scale)
    assert norms_of([values])[0] == pytest.approx(np.linalg.norm(values.astype(np.float64)), rel=1e-6)


def test_norms_are_not_finite_if_an_element_is_not() -> None:
    nan, infinite, both, finite = arrays(2, (100, 100, 20_000, 100))
    nan[99] = both[19_999] = np.nan
    infinite[3] = both[3] = -np.inf
    found = norms_of([nan, infinite, both, finite])
    assert np.isnan(found[[0, 2]]).all()
    assert np.isinf(found[1])
    assert np.isfinite(found[3])


def test_changes_are_those_since_the_copy() -> None:
    before, after = arrays(3), [old + 1e-4 * change for old, change in zip(arrays(3), arrays(4), strict=True)]
    after = [each.astype(np.float32) for each in after]
    out = np.empty(2 * len(before), np.float32)
    ChangeNorms([each.size for each in before])(np.concatenate(before), after, out)
    expected = [np.linalg.norm(each.astype(np.float64)) for each in before]
    changes = [np.linalg.norm(new.astype(np.float64) - old) for old, new in zip(before, after, strict=True)]
    assert out == pytest.approx(np.array([*expected, *changes]), rel=1e-6)
