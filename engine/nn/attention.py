"""Which kernel computes attention: PyTorch's choice, which makes no difference here."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager


class SDPBackend(enum.IntEnum):
    """PyTorch's kernels by name."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: SDPBackend | list[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Takes the choice. There is one kernel for each device, and it is used."""
    yield


__all__ = ["SDPBackend", "sdpa_kernel"]
