"""The number of BLAS threads, and a report of libraries and settings."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator

import numpy as np

from engine import backend
from engine.errors import DeviceError
from engine.system import environment
from engine.system.blas_threads import ONE_THREAD, blas_libraries


def get_num_threads() -> int:
    """Return the number of threads of matrix products."""
    return ONE_THREAD.num_threads()


def set_num_threads(n: int) -> None:
    """Set the number of threads of matrix products and compiled kernels."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"set_num_threads() takes a whole number above 0, not {n!r}")
    ONE_THREAD.set_num_threads(n)
    for callback in _thread_callbacks:
        callback(n)


_thread_callbacks: list[Callable[[int], None]] = []


def follow_num_threads(callback: Callable[[int], None]) -> None:
    """Call `act` with the new number whenever `set_num_threads` changes it."""
    _thread_callbacks.append(callback)


def get_num_interop_threads() -> int:
    """Return 1: ops run one after the other."""
    return 1


def set_num_interop_threads(n: int) -> None:
    """Accepted for compatibility, without effect: ops run one after the other."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"set_num_interop_threads() takes a whole number above 0, not {n!r}")


def show_config() -> None:
    """Print the versions of Python, NumPy, CuPy and BLAS, the threads, and the environment variables."""
    print("\n".join(_lines()))  # noqa: T201 - printing is its purpose


def _lines() -> Iterator[str]:
    yield f"Python {platform.python_version()}, NumPy {np.__version__}, {_cupy()}"
    for library in blas_libraries():
        details = (
            f"{name} {value}"
            for name in ("architecture", "threading_layer")
            if (value := getattr(library, name, None)) is not None
        )
        yield f"BLAS: {library.internal_api} {library.version}, {', '.join(details)}, {library.num_threads} threads"
    yield from environment.explanations()


def _cupy() -> str:
    try:
        version = backend.namespace(backend.Device("cuda")).__version__
    except DeviceError:
        return "no CuPy"
    return f"CuPy {version}" + ("" if backend.cuda_available() else " (without a CUDA device)")
