"""Keeps freed memory in the process, for the next step to use. Imports nothing but the standard library.

glibc maps large blocks and hands them back when they are freed. A training step frees what the next one asks for again,
and touching fresh pages costs a tenth of the step of a small convolutional network (82 → 73 ms).
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
    """Sets glibc's heap so; whether it did. It is left alone where the user's environment sets it, or is another."""
    if platform.libc_ver()[0] != "glibc" or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    libc = ctypes.CDLL(None)
    return all(libc.mallopt(parameter, value) for parameter, value in _SETTINGS.items())
