"""Settings of glibc's malloc: freed memory stays in the process for the next training step.

By default glibc maps large blocks and unmaps them when they are freed. A training step frees blocks that the next step
allocates again, and page faults take a tenth of the step time of a small convolutional network (82 → 73 ms).
"""

from __future__ import annotations

import ctypes
import os
import platform

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # of glibc's malloc.h
_SETTINGS = {
    _MMAP_THRESHOLD: 32 << 20,  # the most that glibc allows; larger blocks are mapped as before
    _TRIM_THRESHOLD: 256 << 20,
    _TOP_PAD: 16 << 20,
}


def keep_freed_memory() -> bool:
    """Raise glibc's thresholds. Returns False with another C library, and where MALLOC_ variables are set."""
    if platform.libc_ver()[0] != "glibc" or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    libc = ctypes.CDLL(None)
    return all(libc.mallopt(parameter, value) for parameter, value in _SETTINGS.items())
