"""PyTorch's argument `out`: results are written into existing tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.errors import AutogradError, DTypeError, ShapeError
from engine.modes import MODES


def with_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with an argument `out`, a tensor or a tuple of tensors that receives the result."""

    def into(*args: Any, out: Any, **kwargs: Any) -> Any:
        values = function(*args, **kwargs)
        if out is None:
            return values
        if not isinstance(values, tuple):
            _write_out(function.__name__, out, values)
            return out
        for target, result in zip(out, values, strict=True):
            _write_out(function.__name__, target, result)
        return out if type(values) is tuple else type(values)(*out)  # a named tuple

    return into


def _write_out(name: str, target: Any, result: Any) -> None:
    if MODES.grad and (result.requires_grad or target.requires_grad):
        raise AutogradError(f"{name}(): out= does not support gradients.", in_code="Call it inside no_grad().")
    if result.dtype.kind > target.dtype.kind:
        raise DTypeError(f"{name}(): out= is {target.dtype.name} but the result is {result.dtype.name}.")
    if tuple(target.shape) == tuple(result.shape):
        target.copy_(result)
    elif target.numel() == 0:
        target.data = result.to(target.dtype)
    else:
        raise ShapeError(f"{name}(): out= has shape {tuple(target.shape)} but the result has {tuple(result.shape)}")
