"""Expressions that are evaluated with the engine and with PyTorch, and must come to the same."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import engine

BUILTIN = (IndexError, TypeError, ValueError, BufferError, RuntimeError)


def outcome(text: str, lib: Any) -> tuple[str, Any]:
    """The result of `text` in comparable form: tensors by dtype, shape, gradient and numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "value", plain(eval(text, {"lib": lib, "np": np}))
        except BUILTIN as error:
            return "error", error


def plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)) and not hasattr(value, "numel"):
        return [plain(item) for item in value]
    if hasattr(value, "requires_grad"):
        numbers = None if value.is_meta else value.detach().double().numpy().tolist()
        return str(value.dtype).partition(".")[2], tuple(value.shape), value.requires_grad, numbers
    if isinstance(value, (np.ndarray, np.generic)):
        return "array", str(value.dtype), value.tolist()
    if callable(getattr(value, "numel", None)) or isinstance(value, tuple):
        return tuple(value)
    return value if isinstance(value, (bool, int, float, complex, type(None))) else _text(str(value))


def _text(text: str) -> str:
    return text.replace("torch.", "").replace("engine.", "")


def check(text: str, torch: Any) -> None:
    """Raises AssertionError unless both libraries give the same results or errors."""
    (kind, found), (wanted_kind, wanted) = outcome(text, engine), outcome(text, torch)
    assert kind == wanted_kind, (found, wanted)
    if kind == "error":
        caught = next(one for one in BUILTIN if isinstance(wanted, one))
        assert isinstance(found, caught), (found, wanted)
    else:
        np.testing.assert_equal(_rounded(found), _rounded(wanted))


def _rounded(value: Any) -> Any:
    """Numbers to seven digits: the last ones differ by the order of computation."""
    if isinstance(value, (tuple, list)):
        return [_rounded(item) for item in value]
    return float(f"{value:.6e}") if isinstance(value, float) else value
