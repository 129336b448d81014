"""Accuracy of functions that NumPy does not have, and their values at the limits of floating point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import engine
import engine.nn.functional as F

EXTREMES = [-math.inf, -1e4, -800.0, -750.0, -100.0, -89.0, -50.0, -20.0, -1.0, -1e-8, -0.0, 0.0, 1e-8, 1.0, 20.0,
            20.1, 50.0, 88.0, 89.0, 100.0, 709.0, 710.0, 800.0, 1e4, math.inf, math.nan]  # fmt: skip


@pytest.mark.parametrize(("dtype", "limit"), [(np.float64, 4.5), (np.float32, 8), (np.float16, 0.51)])
def test_erf_within_ulps(dtype: Any, limit: float) -> None:
    small = np.logspace(-30, 0.8, 5001)
    x = np.concatenate([np.linspace(-7, 7, 20001), small, -small]).astype(dtype)
    want = np.array([math.erf(value) for value in x.astype(float)])
    actual = engine.tensor(x).erf().numpy()
    assert actual.dtype == dtype
    unit = np.spacing(np.abs(want).astype(dtype)).astype(float)
    assert np.max(np.abs(actual.astype(float) - want) / unit) <= limit


def test_erf_of_special_values() -> None:
    x = engine.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -40.0], dtype=engine.float64)
    actual = x.erf().numpy()
    np.testing.assert_array_equal(actual[[0, 1, 2, 3, 6]], [0.0, -0.0, 1.0, -1.0, -1.0])
    assert np.signbit(actual[1])
    assert math.isnan(actual[4])
    assert 0 < actual[5] <= 1e-323


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "name", ["sigmoid", "softplus", "tanh", "exp", "expm1", "log1p", "softmax", "log_softmax", "logsumexp"]
)
def test_extreme_values_equal_pytorch(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    rtol = {"float16": 3e-3, "float32": 3e-6, "float64": 1e-12}[dtype]
    tiny = float(np.finfo(dtype).tiny)

    def call(lib: Any, functional: Any, x: Any) -> Any:
        if name == "softplus":
            return functional.softplus(x)
        if name in ("softmax", "log_softmax"):
            return getattr(x[1:-2], name)(-1)
        return x[1:-2].logsumexp(-1) if name == "logsumexp" else getattr(x, name)()

    with np.errstate(over="ignore"):
        numbers = np.array(EXTREMES).astype(dtype)
    numbers = numbers[np.isfinite(numbers) | ~np.isfinite(EXTREMES)]
    x, tx = engine.tensor(numbers, requires_grad=True), torch.tensor(numbers, requires_grad=True)
    actual, expected = call(engine, F, x), call(torch, torch.nn.functional, tx)
    np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), rtol=rtol, atol=tiny)
    actual.sum().backward()
    expected.sum().backward()
    assert x.grad is not None
    # The exact gradient of the sum of a softmax is 0.
    atol = 2 * float(np.finfo(dtype).eps) if "softmax" in name else tiny
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), rtol=30 * rtol, atol=atol)


def test_sums_of_many_small_numbers() -> None:
    """Pairwise summation: the error grows with the logarithm of the count."""
    x = engine.full((1 << 20,), 0.1)
    assert x.sum().item() == pytest.approx(0.1 * (1 << 20), rel=1e-6)
    assert x.mean().item() == pytest.approx(0.1, rel=1e-6)


def test_variance_of_large_numbers() -> None:
    x = engine.tensor([1e8, 1e8 + 2, 1e8 + 4], dtype=engine.float64)
    assert x.var().item() == 4.0


def within(actual: Any, want: Any, limit: float) -> None:
    """Assert that errors stay below `limit`, relative to max(1, |value|)."""
    np.testing.assert_array_less(np.abs(actual - want) / np.maximum(np.abs(want), 1), limit)


def of(name: str, x: Any, *args: Any) -> Any:
    return getattr(engine.tensor(x), name)(*args).numpy()


def test_lgamma_within_1e_13() -> None:
    x = np.concatenate([np.linspace(1e-3, 30, 3001), np.logspace(1.5, 15, 100), -np.linspace(0.01, 20.003, 1001)])
    within(of("lgamma", x), [math.lgamma(value) for value in x], 1e-13)


def test_polygamma_within_1e_13() -> None:
    """Known identities: ψ(1) = −γ, ψ(½) = −γ − 2 ln 2, ψ⁽ⁿ⁾(1) = (−1)ⁿ⁺¹ n! ζ(n + 1), recurrence, reflection."""
    euler = 0.57721566490153286
    within(of("digamma", np.array([1.0, 0.5])), [-euler, -euler - 2 * math.log(2)], 1e-15)
    within(of("polygamma", np.array([1.0, 0.5]), 1), [math.pi**2 / 6, math.pi**2 / 2], 1e-14)
    within(of("polygamma", np.array([1.0]), 3), [math.pi**4 / 15], 1e-13)
    x = np.linspace(0.01, 50, 2001)
    within(of("digamma", x + 1) - of("digamma", x), 1 / x, 1e-13)
    within(of("polygamma", x + 1, 1) - of("polygamma", x, 1), -1 / x**2, 1e-13)
    # Reflection: ψ(1 − x) − ψ(x) = π / tan(πx).
    within(of("digamma", 1 - x[:100]) - of("digamma", x[:100]), math.pi / np.tan(math.pi * x[:100]), 1e-13)


def test_erfc_relative_error_in_tail() -> None:
    x = np.linspace(-3, 26, 3001)
    np.testing.assert_allclose(of("erfc", x), [math.erfc(value) for value in x], rtol=1e-13)


def test_erfinv_within_1e_15() -> None:
    x = np.concatenate([np.linspace(-5.5, 5.5, 2001), np.logspace(-20, 0, 200)])
    y = np.array([math.erf(value) for value in x])
    # Error of x caused by rounding y to double precision, near ±1.
    slope = np.spacing(np.abs(y)) * math.sqrt(math.pi) / 2 * np.exp(x * x)
    assert np.all(np.abs(of("erfinv", y) - x) <= 2e-15 * np.maximum(np.abs(x), 1e-300) + 2 * slope)


def test_bessel_functions_within_1e_13() -> None:
    x = np.linspace(-700, 700, 2001)
    np.testing.assert_allclose(of("i0", x), np.i0(x), rtol=1e-13)
    small = engine.tensor(np.linspace(-5, 5, 101), requires_grad=True)
    small.i0().sum().backward()
    assert small.grad is not None
    series = sum(
        (small.detach().numpy() / 2) ** (2 * k + 1) / (math.factorial(k) * math.factorial(k + 1)) for k in range(40)
    )
    np.testing.assert_allclose(small.grad.numpy(), series, rtol=1e-13, atol=1e-15)
