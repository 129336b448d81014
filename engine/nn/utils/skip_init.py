"""Modules without initialization."""

from __future__ import annotations

from typing import Any

from engine.backend import default_device


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Create a module with uninitialized parameters, for weights that are loaded later."""
    device = kwargs.pop("device", None)
    return module_cls(*args, **kwargs, device="meta").to_empty(device=default_device() if device is None else device)
