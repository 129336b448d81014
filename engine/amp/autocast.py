"""Autocast: runs ops in float16, bfloat16 or float32 as listed in `engine.amp.op_lists`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast

from engine.amp.cast_policy import CastCache, CastPolicy
from engine.dtypes import DType, as_dtype, bfloat16, float16
from engine.modes import MODES

F = TypeVar("F", bound=Callable[..., Any])

DEFAULTS = {"cpu": bfloat16, "cuda": float16}


class autocast:
    """Context manager and decorator for mixed precision: matrix products run in `dtype`, sensitive ops in float32.

    Blocks can be nested; ``enabled=False`` turns autocast off in a nested block. Run the forward pass and the loss
    inside, the backward pass outside. `engine.amp.op_lists` lists the ops. float64 inputs are not
    cast. Source: Micikevicius et al., Mixed precision training, arXiv 1710.03740.

    Args:
        device_type: device type of the tensors to cast, "cpu" or "cuda"
        dtype: lower precision; default: float16 on "cuda", bfloat16 on "cpu"
        enabled: whether autocast is on
        cache_enabled: cast each parameter only once per block
    """

    def __init__(
        self, device_type: str, dtype: DType | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        device_type = str(device_type).partition(":")[0]
        if device_type not in DEFAULTS:
            raise RuntimeError(f"autocast: device_type must be one of {', '.join(DEFAULTS)}, not {device_type!r}")
        self.device = device_type
        self.fast_dtype = DEFAULTS[device_type] if dtype is None else as_dtype("autocast", dtype)
        if enabled and self.fast_dtype not in (bfloat16, float16):
            warnings.warn(
                f"autocast is off: its dtype must be bfloat16 or float16, not {self.fast_dtype.name}", stacklevel=2
            )
            enabled = False
        self._enabled = enabled
        self._cache_enabled = cache_enabled is None or cache_enabled
        self._outer: list[CastPolicy | None] = []

    def __enter__(self) -> autocast:
        outer = MODES.autocast
        self._outer.append(outer)
        dtypes = {
            device_type: dtype
            for device_type, dtype in (outer.dtypes if outer else {}).items()
            if device_type not in (self.device, "meta")
        }
        if self._enabled:
            dtypes |= {self.device: self.fast_dtype, "meta": self.fast_dtype}
        elif dtypes:
            dtypes["meta"] = next(iter(dtypes.values()))
        cache = (outer.cache if outer and outer.cache else CastCache()) if self._cache_enabled else None
        MODES.autocast = CastPolicy(dtypes, cache) if dtypes else None
        return self

    def __exit__(self, device_type: object, error: object, trace: TracebackType | None) -> None:
        MODES.autocast = self._outer.pop()

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with type(self)(**self._arguments()):
                return function(*args, **kwargs)

        return cast(F, wrapped)

    def _arguments(self) -> dict[str, Any]:
        return {
            "device_type": self.device,
            "dtype": self.fast_dtype,
            "enabled": self._enabled,
            "cache_enabled": self._cache_enabled,
        }


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether autocast is on for `device_type`."""
    return MODES.autocast is not None and device_type in MODES.autocast.dtypes


def get_autocast_dtype(device_type: str) -> DType:
    """Return the lower precision of autocast for `device_type`."""
    if is_autocast_enabled(device_type):
        return MODES.autocast.dtypes[device_type]
    if device_type not in DEFAULTS:
        raise RuntimeError(f"autocast: device_type must be one of {', '.join(DEFAULTS)}, not {device_type!r}")
    return DEFAULTS[device_type]


def is_autocast_cache_enabled() -> bool:
    """Return whether casts of parameters are cached."""
    return MODES.autocast is None or MODES.autocast.cache is not None


def clear_autocast_cache() -> None:
    """Clear the cache of parameter casts."""
    if MODES.autocast is not None and MODES.autocast.cache is not None:
        MODES.autocast.cache.clear()


def is_autocast_available(device_type: str) -> bool:
    """Return whether autocast supports the device type."""
    return device_type in DEFAULTS
