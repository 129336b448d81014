"""torch.accelerator: the functions of `engine.cuda` under device-independent names."""

from __future__ import annotations

from typing import Any

from engine import cuda
from engine.backend import Device
from engine.cuda import (
    current_device,
    device_count,
    empty_cache,
    is_available,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    reset_peak_memory_stats,
    set_device,
    synchronize,
)

current_device_index = current_device
set_device_index = set_device


def current_accelerator(check_available: bool = False) -> Device | None:
    """Return the CUDA device if there is one, else None."""
    return Device("cuda") if cuda.is_available() else None


def get_memory_info(device: Any = None) -> tuple[int, int]:
    """Return the free and the total memory of a GPU in bytes."""
    return cuda.mem_get_info(device)


__all__ = [
    "current_accelerator",
    "current_device_index",
    "device_count",
    "empty_cache",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "set_device_index",
    "synchronize",
]
