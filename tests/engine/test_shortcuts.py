"""Windows, estimates and other compositions give what PyTorch gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.errors import DTypeError, RangeError, ShapeError

torch = pytest.importorskip("torch")

DRAW = np.random.default_rng(0)
ROWS, WIDE = DRAW.normal(size=(4, 6)), DRAW.normal(size=(3, 4, 6))
COUNTS, WEIGHTS = np.array([1, 2, 0, 3, 1, 1]), np.array([0.5, 1.0, 2.0, 0.1, 1.0, 0.3])
PLACES = np.array([0.0, 0.5, 2.0, 2.5, 4.0, 7.0])

CASES: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
    "cov weighted": lambda lib, t: lib.cov(t(ROWS), fweights=t(COUNTS), aweights=t(WEIGHTS)),
    "cov counts": lambda lib, t: lib.cov(t(ROWS), fweights=t(COUNTS), correction=0),
    "cov weights": lambda lib, t: lib.cov(t(ROWS), aweights=t(WEIGHTS)),
    "cov of whole numbers": lambda lib, t: lib.cov(t(np.arange(6).reshape(2, 3) ** 2)),
    "corrcoef": lambda lib, t: t(ROWS).corrcoef(),
    "gradient": lambda lib, t: lib.gradient(t(WIDE)),
    "gradient at places": lambda lib, t: lib.gradient(t(WIDE), spacing=(t(PLACES),), dim=-1),
    "gradient at places, second order": lambda lib, t: lib.gradient(t(WIDE), spacing=(t(PLACES),), dim=2, edge_order=2),
    "gradient with distances": lambda lib, t: lib.gradient(t(ROWS), spacing=[2.0, 0.5]),
    "vander": lambda lib, t: (lib.vander(t(PLACES)), lib.vander(t(PLACES), N=3, increasing=True)),
    "vander of nothing": lambda lib, t: (lib.vander(t(PLACES), 0), lib.vander(t(np.zeros(0)), 3)),
    "unravel_index": lambda lib, t: lib.unravel_index(t(np.array([[0, 5], [23, 12]])), (2, 3, 4)),
    "unravel_index of one": lambda lib, t: lib.unravel_index(t(np.array(3)), 5),
    "angle": lambda lib, t: (lib.angle(t(ROWS)), lib.angle(t(np.array([-1, 0]))), t(np.array([np.nan, -0.0])).angle()),
    "conj": lambda lib, t: (t(ROWS).conj(), lib.conj_physical(t(ROWS)), lib.resolve_neg(lib.resolve_conj(t(ROWS)))),
    "detach": lambda lib, t: lib.detach(t(ROWS)),
} | {
    f"{name} {length} {periodic}": lambda lib, t, name=name, length=length, periodic=periodic: getattr(lib, name)(
        length, periodic, dtype=lib.float64
    )
    for name in ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window")
    for length in (0, 1, 2, 7)
    for periodic in (True, False)
} | {
    "hamming with numbers": lambda lib, t: lib.hamming_window(9, True, alpha=0.5, beta=0.3),
    "kaiser with a number": lambda lib, t: lib.kaiser_window(9, False, 3.0),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_shortcuts_match_pytorch(case: str) -> None:
    ours, theirs = (CASES[case](lib, lambda array, lib=lib: lib.from_numpy(array.copy())) for lib in (engine, torch))
    assert isinstance(ours, tuple) == isinstance(theirs, tuple)
    ours, theirs = (result if isinstance(result, tuple) else (result,) for result in (ours, theirs))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert str(mine.dtype).partition(".")[2] == str(other.dtype).partition(".")[2]
        rounding = 1e-5 if mine.dtype is engine.float32 else 1e-9
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=rounding, atol=rounding / 10)


def test_low_rank_decompositions() -> None:
    matrix = engine.randn(30, 5, dtype=engine.float64) @ engine.randn(5, 20, dtype=engine.float64)
    U, S, V = engine.svd_lowrank(matrix, q=5)
    assert (U.shape, S.shape, V.shape) == ((30, 5), (5,), (20, 5))
    np.testing.assert_allclose((U * S @ V.T).numpy(), matrix.numpy(), atol=1e-9)
    centered = matrix - matrix.mean(0, keepdim=True)
    U, S, V = engine.pca_lowrank(matrix)
    np.testing.assert_allclose((U * S @ V.T).numpy(), centered.numpy(), atol=1e-9)
    np.testing.assert_allclose(S.numpy()[:5], np.linalg.svd(centered.numpy())[1][:5], rtol=1e-6)


def test_real_numbers_are_not_conjugated() -> None:
    x = engine.ones(2)
    assert x.conj() is x
    assert (engine.is_conj(x), x.is_neg(), engine.get_device(x)) == (False, False, -1)


def test_refused_arguments() -> None:
    x = engine.ones(3, 4)
    with pytest.raises(ShapeError, match="at most 2 dimensions"):
        engine.cov(engine.ones(2, 2, 2))
    with pytest.raises(DTypeError, match="fweights must be integers"):
        engine.cov(x, fweights=engine.ones(4))
    with pytest.raises(RangeError, match="edge_order must be 1 or 2"):
        engine.gradient(x, edge_order=3)
    with pytest.raises(ShapeError, match="requires 3 samples, but dimension 0 has 2"):
        engine.gradient(engine.ones(2, 4), edge_order=2)
    with pytest.raises(ShapeError, match="3 spacings for 2 dimensions"):
        engine.gradient(x, spacing=[1, 2, 3])
    with pytest.raises(ShapeError, match="must have 1 dimension"):
        engine.vander(x)
    with pytest.raises(RangeError, match="N must be ≥ 0, not -1"):
        engine.vander(x[0], -1)
    with pytest.raises(RangeError, match="between 0 and the smaller size of the matrix, 3"):
        engine.pca_lowrank(x, q=4)
    with pytest.raises(ShapeError, match="cannot be negative: -1"):
        engine.hann_window(-1)
    with pytest.raises(DTypeError, match="not int64"):
        engine.hann_window(3, dtype=engine.int64)
    with pytest.raises(ShapeError, match="must be integers, not float32"):
        engine.unravel_index(x, (3,))
