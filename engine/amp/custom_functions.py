"""Decorators for custom autograd functions under autocast."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from engine.amp.autocast import autocast, get_autocast_dtype, is_autocast_enabled
from engine.dtypes import DType, float64
from engine.tensors import Tensor


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: DType | None = None
) -> Callable[..., Any]:
    """Decorate the forward of a Function: under autocast, cast inputs to `cast_inputs` and run with autocast off."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        is_enabled = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = is_enabled and cast_inputs is None
        if not is_enabled or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate the backward of a Function: run it with the autocast state of its forward."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any) -> Any:
        with autocast(device_type, ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args)

    return backward


def _cast(value: Any, device_type: str, dtype: DType) -> Any:
    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype is not float64
        return value.to(dtype) if eligible else value
    if isinstance(value, Mapping):
        return {key: _cast(item, device_type, dtype) for key, item in value.items()}
    return type(value)(_cast(item, device_type, dtype) for item in value) if isinstance(value, (list, tuple)) else value
