"""Selection of attention kernels, for compatibility with PyTorch; it has no effect."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager


class SDPBackend(enum.IntEnum):
    """PyTorch's attention kernels."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: SDPBackend | list[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Accept a selection of kernels without effect: each device has one kernel."""
    yield


__all__ = ["SDPBackend", "sdpa_kernel"]
