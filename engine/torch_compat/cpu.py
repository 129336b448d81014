"""torch.cpu: the functions that device-agnostic code calls on every device module."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """Return True."""
    return True


def is_initialized() -> bool:
    """Return True."""
    return True


def device_count() -> int:
    """Return 1."""
    return 1


def current_device() -> str:
    """Return "cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Without effect: there is one CPU device."""


def synchronize(device: Any = None) -> None:
    """Without effect: ops on the CPU are finished when they return."""


__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]
