"""Compiles the library's kernels before a plan has to wait for them: `python -m engine.compiler.kernels.library.ahead`.

Once on a machine this takes some ten seconds of a process that gives way to all others; later a look at the cache.
"""

from __future__ import annotations

import sys

import numpy as np
import psutil

from engine.compiler.kernels.cache import is_kept
from engine.compiler.kernels.library.routine import kernel, names, source_of

DTYPE = np.dtype(np.float32)
"""What nearly all models compute in."""


def missing() -> list[str]:
    """Kernels that are not on disk yet."""
    return [name for name in names() if not is_kept(source_of(name, DTYPE))]


def main() -> None:
    """Compiles what is missing."""
    psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS if sys.platform == "win32" else 19)
    for name in missing():
        kernel(name, DTYPE)


if __name__ == "__main__":
    main()

__all__ = ["DTYPE", "main", "missing"]
