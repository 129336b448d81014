"""Run a program in the engine and in PyTorch and compare the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine


def plain(value: Any) -> Any:
    """Results as plain values that do not depend on the library."""
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.detach().numpy() if hasattr(value, "detach") else value


def outcome(program: Callable[[Any], Any], lib: Any) -> Any:
    try:
        return plain(program(lib))
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        kinds = (NotImplementedError, RuntimeError, TypeError, ValueError)
        return f"{next(kind for kind in kinds if isinstance(error, kind)).__name__}"


def assert_same(program: Callable[[Any], Any]) -> Any:
    """Assert equal results in both libraries and return the result, or the kind of error if the program raises."""
    torch = pytest.importorskip("torch")
    actual, expected = outcome(program, engine), outcome(program, torch)
    _compare(actual, expected)
    return actual


def _compare(actual: Any, expected: Any) -> None:
    assert type(actual) is type(expected), (actual, expected)
    if isinstance(actual, list):
        assert len(actual) == len(expected), (actual, expected)
        for a, b in zip(actual, expected, strict=True):
            _compare(a, b)
    elif isinstance(actual, dict):
        assert list(actual) == list(expected)
        _compare(list(actual.values()), list(expected.values()))
    elif isinstance(actual, np.ndarray):
        assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-7)
    elif isinstance(actual, float):
        assert actual == pytest.approx(expected, rel=1e-6, nan_ok=True)
    else:
        assert actual == expected
