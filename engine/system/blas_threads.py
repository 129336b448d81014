"""Single-threaded BLAS, whose results do not depend on the number of threads.

OpenBLAS splits even a product of 64×128 and 128×512 between its threads and waits for all of them. On a busy machine
this takes up to forty times as long (benchmarks/operators.py), and on an idle one it saves little.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

from threadpoolctl import ThreadpoolController

F = TypeVar("F", bound=Callable[..., Any])


class SingleThreadedBlas:
    """Context manager: BLAS uses one thread in the whole process until the last such context ends.

    The number of threads for all other code can be read and set in the meantime.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._outside: list[int] = []
        """Threads of each library outside the context."""

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._outside = [library.get() for library in _thread_counts()]
                for library, threads in zip(_thread_counts(), self._outside, strict=True):
                    if threads > 1:
                        library.set(1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for library, threads in zip(_thread_counts(), self._outside, strict=True):
                    if threads > 1:
                        library.set(threads)

    def num_threads(self) -> int:
        """Threads of BLAS outside the context."""
        with self._lock:
            numbers = self._outside if self._inside else [library.get() for library in _thread_counts()]
            return max(numbers, default=1)

    def set_num_threads(self, threads: int) -> None:
        """Set the threads of BLAS outside the context."""
        with self._lock:
            if self._inside:
                self._outside = [threads] * len(_thread_counts())
                return
            for library in _thread_counts():
                library.set(threads)


@functools.cache
def blas_libraries() -> tuple[Any, ...]:
    """The BLAS libraries of this process, normally only NumPy's."""
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


def openblas_function(library: ctypes.CDLL, name: str) -> Any:
    """The function of an OpenBLAS library, such as "cblas_sgemm", whose name has a prefix and suffix in some builds.

    None if there is none of that name.
    """
    for prefix in ("scipy_", ""):
        for suffix in ("64_", "_64", ""):
            function = getattr(library, f"{prefix}{name}{suffix}", None)
            if function is not None:
                return function
    return None


class _ThreadCount(NamedTuple):
    """Functions that read and set the number of threads of a library."""

    get: Callable[[], int]
    set: Callable[[int], Any]


@functools.cache
def _thread_counts() -> tuple[_ThreadCount, ...]:
    return tuple(map(_thread_count, blas_libraries()))


def _thread_count(library: Any) -> _ThreadCount:
    """Calls OpenBLAS directly, which takes a tenth of the time of threadpoolctl, and without releasing the GIL."""
    if library.internal_api == "openblas":
        functions = ctypes.PyDLL(library.filepath, handle=library.dynlib._handle)
        found = [openblas_function(functions, f"openblas_{verb}_num_threads") for verb in ("get", "set")]
        if None not in found:
            return _ThreadCount(*found)
    return _ThreadCount(library.get_num_threads, library.set_num_threads)


ONE_THREAD = SingleThreadedBlas()


def single_threaded(kernel: F) -> F:
    """Decorator: run `kernel` with single-threaded BLAS."""

    @functools.wraps(kernel)
    def limited(*args: Any, **kwargs: Any) -> Any:
        with ONE_THREAD:
            return kernel(*args, **kwargs)

    return cast(F, limited)
