"""Compile the hand-written kernels in advance, so that no plan waits for them.

`python -m engine.compiler.kernels.library.precompile` takes about ten seconds, at low priority, the first time on a
machine. Later runs only check the cache.
"""

from __future__ import annotations

import sys

import numpy as np
import psutil

from engine.compiler.kernels.kernel_cache import is_cached
from engine.compiler.kernels.library.routines import kernel_names, library_kernel, source_of

DTYPE = np.dtype(np.float32)
"""Dtype of nearly all models."""


def missing_kernels() -> list[str]:
    """Kernels that are not cached."""
    return [name for name in kernel_names() if not is_cached(source_of(name, DTYPE))]


def main() -> None:
    """Compiles missing kernels."""
    psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS if sys.platform == "win32" else 19)
    for name in missing_kernels():
        library_kernel(name, DTYPE)


if __name__ == "__main__":
    main()

__all__ = ["DTYPE", "main", "missing_kernels"]
