"""Statistics of tensors in plans are those of NumPy within rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.compiler.kernels.library.tensor_statistics_kernel import DeadShare, TensorStatistics
from engine.ops.reduction.tensor_statistics import STATISTICS, dead_share, tensor_statistics

BIG = np.finfo(np.float32).max


def cases() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    normal = random.normal(size=70_001).astype(np.float32)
    mixed = normal.copy()
    mixed[random.integers(0, mixed.size, 900)] = np.nan
    mixed[random.integers(0, mixed.size, 50)] = np.inf
    mixed[random.integers(0, mixed.size, 50)] = -np.inf
    return {
        "normal": normal,
        "one": np.float32([-3.5]),
        "lanes": normal[:16],
        "short": normal[:15],
        "vectors": normal[: 16 * 7],
        "block": normal[:4096],
        "more": normal[:4097],
        "rectified": np.maximum(normal, 0),
        "far from zero": normal * np.float32(1e-3) + np.float32(1000),
        "equal": np.full(5000, 7, np.float32),
        "zeros": np.zeros(5000, np.float32),
        "negative": -np.abs(normal) - 1,
        "mixed": mixed,
        "nan": np.full(5000, np.nan, np.float32),
        "infinite": np.float32([np.inf, -np.inf]),
        "block of nan": np.concatenate([np.full(4096, np.nan, np.float32), normal[:100]]),
        "large": np.float32([BIG, -BIG, BIG, 1] * 8),
        "small": normal * np.float32(1e-30),
    }


@pytest.mark.parametrize("name", cases())
def test_the_kernel_computes_what_numpy_computes(name: str) -> None:
    values = cases()[name]
    out = np.empty(len(STATISTICS), np.float32)
    TensorStatistics(values.size)(values, out)
    with np.errstate(over="ignore"):
        expected = tensor_statistics.kernel(np, values)
    found, right = (dict(zip(STATISTICS, numbers.tolist(), strict=True)) for numbers in (out, expected))
    for exact in ("low", "high", "zeros", "nan", "infinite"):
        assert found.pop(exact) == right.pop(exact), exact
    finite = values[np.isfinite(values)]
    scale = float(np.abs(finite).max()) if finite.size else 1.0
    assert found == pytest.approx(right, rel=1e-5, abs=1e-6 * scale)


@pytest.mark.parametrize(
    ("shape", "dim"), [((5, 130), 1), ((3, 7, 2, 3), 1), ((2, 4, 64), 2), ((1, 1), 1), ((6, 5, 1), 1)]
)
@pytest.mark.parametrize("dead", [0, 1, 3])
def test_the_share_of_dead_units(shape: tuple[int, ...], dim: int, dead: int) -> None:
    random = np.random.default_rng(dead)
    values = np.maximum(random.normal(size=shape), 0).astype(np.float32)
    values[(-1,) + (slice(None),) * (len(shape) - 1)] = 1.0
    np.moveaxis(values, dim, 0)[:dead] = 0.0
    np.moveaxis(values, dim, 0)[-1].flat[0] = np.nan
    expected = dead_share.kernel(np, values, dim=dim)
    out = np.empty(1, np.float32)
    DeadShare((math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])))(values, out)
    assert out == expected
    assert expected[0] == pytest.approx(min(dead, shape[dim] - 1) / shape[dim])
