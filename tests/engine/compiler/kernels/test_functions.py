"""The functions of kernels against mpmath-free references in longer floats: error, and what happens at the ends."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

RANGES: dict[str, tuple[float, float]] = {
    "exp": (-103, 89), "exp2": (-149, 128), "expm1": (-20, 89), "tanh": (-10, 10), "log": (0, 1e6), "log2": (0, 1e6),
    "log10": (0, 1e6), "log1p": (-1, 50),
}  # fmt: skip
NAMES = {
    "exp2": "exp2_{}", "expm1": "expm1_{}", "log2": "log2_{}", "log10": "log10_{}",
}  # fmt: skip
ENDS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, 8.0, 1e-40, 5e-324, 1e300, -1e300, 1e38, 3e-39, -2.0]
UNITS = 2.0


def _mapped(name: str) -> Any:
    numba = importlib.import_module("numba")
    function = getattr(importlib.import_module("engine.compiler.kernels.functions"), name)

    @numba.njit(error_model="numpy")
    def over(x: Any, out: Any) -> None:
        for i in range(x.size):
            out[i] = function(x[i])

    return over


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", list(RANGES))
def test_functions_are_accurate_to_two_ulp(name: str, dtype: Any) -> None:
    over = _mapped(NAMES.get(name, name + "{}").format(np.dtype(dtype).itemsize * 8))
    random, (low, high) = np.random.default_rng(0), RANGES[name]
    wide = np.concatenate(
        [random.uniform(low, high, 40_000), random.normal(size=20_000), random.normal(size=5_000) * 1e-4]
    )
    near = 1 + random.normal(size=20_000) * 0.01 if name.startswith("log") and name != "log1p" else wide * 0.1
    with np.errstate(all="ignore"):
        x = np.concatenate([wide, near, ENDS]).astype(dtype)
        exact = getattr(np, name)(x.astype(np.longdouble))
        expected = exact.astype(dtype)
        found = np.empty_like(x)
        over(x, found)
        finite = np.isfinite(expected)
        units = np.abs(found.astype(np.longdouble) - exact)[finite] / np.spacing(np.abs(expected[finite]))
    assert units.max() <= UNITS, x[finite][units.argmax()]
    assert np.array_equal(found[~finite], expected[~finite], equal_nan=True)
    zeros = expected == 0
    assert np.array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["power", "remainder", "floor_divide", "logaddexp", "fmax", "fmin", "maximum"])
def test_binary_functions_match_numpy_at_special_values(name: str, dtype: Any) -> None:
    numba = importlib.import_module("numba")
    functions = importlib.import_module("engine.compiler.kernels.functions")
    bits = np.dtype(dtype).itemsize * 8
    function = getattr(functions, f"{name}{bits}" if name in ("power", "logaddexp") else name)

    @numba.njit(error_model="numpy")
    def over(x: Any, y: Any, out: Any) -> None:
        for i in range(x.size):
            out[i] = function(x[i], y[i])

    ends = np.array([*ENDS, 3.0, -3.0, 0.5, -0.5, 2.5, -7.25, 1e10], np.float64)
    with np.errstate(all="ignore"):
        ends = ends.astype(dtype)
        x, y = np.repeat(ends, ends.size), np.tile(ends, ends.size)
        found, expected = np.empty_like(x), getattr(np, name)(x, y)
        over(x, y, found)
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
        if name in ("power", "logaddexp"):
            same |= np.abs(found - expected) <= 2 * np.spacing(np.abs(expected))
    assert same.all(), list(zip(x[~same], y[~same], found[~same], expected[~same], strict=True))[:8]
