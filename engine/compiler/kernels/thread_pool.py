"""Threads that share the work of a kernel, and their work space.

Workers are Python threads that run machine code (`library/sources/serve_pool.py`) without the GIL. They spin for some
microseconds after a part, then sleep.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from engine.system.config import follow_num_threads, get_num_threads

_LINE = 64
"""Bytes of a cache line."""
MIN_PART_NANOSECONDS = 12_000.0
"""Nanoseconds of work from which a part is worthwhile."""
MIN_PARALLEL_NANOSECONDS = 100_000.0
"""Nanoseconds of work from which a kernel is divided; waking a thread takes microseconds."""
MAX_PARTS = 16
_SPIN_SECONDS = 20e-6
"""Seconds for which a worker spins before it sleeps. A longer time would take cores from BLAS."""


class _CallWords(NamedTuple):
    """Indices of the words of a kernel call, whose address is the kernel's first argument."""

    POOL: int = 0
    COUNT: int = 1
    """Number of items of work; 0 if this is the call of a part."""
    FIRST: int = 2
    LAST: int = 3
    """Range of items of a part."""
    STEP: int = 4
    """Items per part."""
    WORKSPACE: int = 5
    WORKSPACE_STRIDE: int = 6
    """Address of the work space, and bytes between those of two threads."""
    EXTRA: int = 7
    """Address of the layout words."""
    SIZE: int = 8


CallWords = _CallWords()
"""An instance, since kernels use it, too."""


class PoolWords:
    """Indices of the words that are shared by workers and callers. Words that change are in separate cache lines."""

    LOCK, STATE, DONE, SLEEPING = 0, 8, 16, 24
    PART, ARGUMENTS, COUNT, STEP, WORKSPACES = 32, 33, 34, 35, 36
    OFFER_FUNCTION, WORKERS, SPINS, STOP, SEMAPHORE, SIGNAL_FUNCTION, WAIT_FUNCTION, YIELD_FUNCTION = (
        40,
        41,
        42,
        43,
        44,
        45,
        46,
        47,
    )
    SEMAPHORE_STORAGE = 48
    SIZE = 64


class ThreadPool:
    """The worker threads of this process."""

    def __init__(self) -> None:
        self._memory = np.zeros(PoolWords.SIZE + _LINE // 8, np.int64)
        start = -self._memory.ctypes.data % _LINE // 8
        self._words = self._memory[start : start + PoolWords.SIZE]
        self.pool: int = self._words.ctypes.data
        self._threads: list[threading.Thread] = []
        self._serve: Any = None
        self._lock = threading.Lock()
        self.refusal = ""
        """Why there are fewer threads than requested."""
        self._has_warned = False

    @property
    def size(self) -> int:
        """Number of threads, including the caller."""
        return len(self._threads) + 1

    @property
    def offers(self) -> int:
        """Number of times that parts were offered."""
        return int(self._words[PoolWords.STATE]) >> 32

    def start(self, serve: Any) -> None:
        """Starts the workers, if they are not running."""
        with self._lock:
            if self._serve is not None:
                return
            self._prepare(serve)
            self._serve = serve
        self.resize(get_num_threads())

    def resize(self, threads: int) -> None:
        """Sets the number of threads, including the caller.

        If the system refuses threads, fewer are used; results do not depend on the number.
        """
        with self._lock:
            if self._serve is None or threads == self.size:
                return
            self._stop()
            words = self._words
            words[PoolWords.STOP], self.refusal = 0, ""
            for thread_number in range(1, threads):
                thread = threading.Thread(
                    target=self._serve, args=(self.pool, thread_number, 0, 0, 0), name="kernel helper", daemon=True
                )
                try:
                    thread.start()
                except RuntimeError as error:
                    self.refusal = str(error)
                    break
                self._threads.append(thread)
            words[PoolWords.WORKERS] = len(self._threads)
        if self.refusal and not self._has_warned:
            self._has_warned = True
            warnings.warn(f"Kernels run on {self}. Results are the same.", RuntimeWarning, stacklevel=2)

    def __str__(self) -> str:
        threads = f"{self.size} thread{'s' if self.size > 1 else ''}"
        return f"{threads}, because the system refused to start more ({self.refusal})" if self.refusal else threads

    def stop(self) -> None:
        """Ends all workers, before the interpreter frees the shared memory."""
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        self._words[PoolWords.WORKERS] = 0
        self._words[PoolWords.STOP] = 1
        while any(thread.is_alive() for thread in self._threads):
            self._serve(self.pool, -3, 0, 0, 0)
            for thread in self._threads:
                thread.join(0.01)
        self._threads = []

    def _prepare(self, serve: Any) -> None:
        words = self._words
        words[PoolWords.SEMAPHORE] = _create_semaphore(self.pool + 8 * PoolWords.SEMAPHORE_STORAGE)
        words[PoolWords.SIGNAL_FUNCTION], words[PoolWords.WAIT_FUNCTION], words[PoolWords.YIELD_FUNCTION] = (
            _semaphore_functions()
        )
        pauses = 1000
        start = time.perf_counter()
        serve(self.pool, -2, pauses, 0, 0)
        words[PoolWords.SPINS] = max(1, int(_SPIN_SECONDS * pauses / (time.perf_counter() - start)))
        serve(self.pool, -1, 0, 0, 0)

    def forked(self) -> None:
        """Resets the pool in a forked child, which has a single thread."""
        self._threads, self._serve, self._lock = [], None, threading.Lock()
        self._words[:] = 0


# -- the system's semaphores


def _create_semaphore(memory: int) -> int:
    """Creates a semaphore with value 0, in 64 bytes of memory if the system needs them."""
    if sys.platform == "win32":
        return _library().CreateSemaphoreW(None, 0, 1 << 30, None)
    if sys.platform == "darwin":
        return _library().dispatch_semaphore_create(0)
    _library().sem_init(ctypes.c_void_p(memory), 0, 0)
    return memory


def _semaphore_functions() -> list[int]:
    """The addresses of the system's functions that signal, wait, and yield."""
    names = {
        "win32": ("ReleaseSemaphore", "WaitForSingleObject", "SwitchToThread"),
        "darwin": ("dispatch_semaphore_signal", "dispatch_semaphore_wait", "sched_yield"),
    }.get(sys.platform, ("sem_post", "sem_wait", "sched_yield"))
    return [ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value or 0 for name in names]


def _library() -> Any:
    library: Any = ctypes.CDLL("kernel32" if sys.platform == "win32" else None)
    for name in ("CreateSemaphoreW", "dispatch_semaphore_create"):
        if hasattr(library, name):
            getattr(library, name).restype = ctypes.c_ssize_t
    return library


THREAD_POOL = ThreadPool()
follow_num_threads(THREAD_POOL.resize)
atexit.register(THREAD_POOL.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=THREAD_POOL.forked)


def call_words(
    count: int,
    work: float,
    *,
    workspace_bytes: int = 0,
    extra: int = 0,
    max_parts: int = MAX_PARTS,
    multiple_of: int = 1,
) -> np.ndarray[Any, Any]:
    """Creates the words of a kernel call.

    Args:
        count: number of independent items of work
        work: estimated nanoseconds of all items in one thread
        workspace_bytes: bytes of work space per thread
        extra: address of the layout words
        max_parts: maximum number of parts
        multiple_of: parts have a multiple of this number of items
    """
    count = max(1, count)
    parts = max(1, min(count, max_parts, int(work / MIN_PART_NANOSECONDS))) if work >= MIN_PARALLEL_NANOSECONDS else 1
    found = np.zeros(CallWords.SIZE, np.int64)
    found[CallWords.POOL], found[CallWords.COUNT] = THREAD_POOL.pool, count
    found[CallWords.STEP] = -(-count // (parts * multiple_of)) * multiple_of
    found[CallWords.WORKSPACE_STRIDE], found[CallWords.EXTRA] = workspace_bytes, extra
    return found


class _WorkspaceMemory(threading.local):
    memory: np.ndarray[Any, Any] | None = None


_workspace_memory = _WorkspaceMemory()


def workspace(size: int) -> int:
    """The address of a work space per thread, valid until this thread requests another one.

    The word before it holds the number of threads.
    """
    threads = THREAD_POOL.size
    needed = size * threads + 2 * _LINE
    found = _workspace_memory.memory
    if found is None or found.nbytes < needed:
        found = _workspace_memory.memory = np.zeros(needed, np.uint8)
    start = -found.ctypes.data % _LINE
    found[start : start + 8].view(np.int64)[0] = threads
    return found.ctypes.data + start + _LINE


def aligned(size: int) -> int:
    """A size rounded up to whole cache lines."""
    return -(-size // _LINE) * _LINE


__all__ = ["THREAD_POOL", "CallWords", "PoolWords", "ThreadPool", "aligned", "call_words", "workspace"]
