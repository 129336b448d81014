"""PyTorch's `out=`: results written into existing tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.errors import AutogradError, DTypeError, ShapeError
from engine.modes import MODES


def with_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with PyTorch's `out=`: the result is written into the tensor, or tensors, given there."""

    def into(*args: Any, out: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        if out is None:
            return found
        if not isinstance(found, tuple):
            _write_out(function.__name__, out, found)
            return out
        for target, result in zip(out, found, strict=True):
            _write_out(function.__name__, target, result)
        return out if type(found) is tuple else type(found)(*out)  # whose parts have names

    return into


def _write_out(name: str, target: Any, result: Any) -> None:
    if MODES.grad and (result.requires_grad or target.requires_grad):
        raise AutogradError(f"{name}(): out= does not support gradients.", in_code="Call it inside no_grad().")
    if result.dtype.kind > target.dtype.kind:
        raise DTypeError(f"{name}(): out= is {target.dtype.name} and cannot take a {result.dtype.name} result.")
    if tuple(target.shape) == tuple(result.shape):
        target.copy_(result)
    elif target.numel() == 0:
        target.data = result.to(target.dtype)
    else:
        raise ShapeError(f"{name}(): out= is {tuple(target.shape)}, the result {tuple(result.shape)}")
