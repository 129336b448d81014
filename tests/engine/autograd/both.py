"""Runs one program in the engine and in PyTorch and compares what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine


def plain(value: Any) -> Any:
    """Results without the library they are of."""
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
    """The program's result, which is the same in both; the kind of error if it raises one."""
    torch = pytest.importorskip("torch")
    found, wanted = outcome(program, engine), outcome(program, torch)
    _compare(found, wanted)
    return found


def _compare(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted), (found, wanted)
    if isinstance(found, list):
        assert len(found) == len(wanted), (found, wanted)
        for a, b in zip(found, wanted, strict=True):
            _compare(a, b)
    elif isinstance(found, dict):
        assert list(found) == list(wanted)
        _compare(list(found.values()), list(wanted.values()))
    elif isinstance(found, np.ndarray):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
    elif isinstance(found, float):
        assert found == pytest.approx(wanted, rel=1e-6, nan_ok=True)
    else:
        assert found == wanted
