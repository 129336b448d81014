"""The processor, by the names that device-agnostic code asks every kind of device by."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """Always."""
    return True


def is_initialized() -> bool:
    """Always."""
    return True


def device_count() -> int:
    """One."""
    return 1


def current_device() -> str:
    """The name of the device."""
    return "cpu"


def set_device(device: Any) -> None:
    """For the sake of code for any device: there is one."""


def synchronize(device: Any = None) -> None:
    """For the sake of code for any device: ops are done when they return."""


__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]
