"""Threads that share the work of one kernel, and memory of each for what it needs meanwhile."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from engine.config import get_num_threads

Task: TypeAlias = Callable[[], None]

_LINE = 64
"""Bytes of a cache line."""
_LEAST = 64 << 20
"""Multiply-adds for which a second thread is worth waking."""


class _Call:
    """What several threads do together."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._lock = threading.Lock()
        self.done = threading.Event()
        self.error: BaseException | None = None

    def run(self, task: Task) -> None:
        try:
            task()
        except BaseException as error:  # noqa: BLE001 - raised again by who asked
            self.error = error
        with self._lock:
            self._left -= 1
            if not self._left:
                self.done.set()


class Team:
    """Helpers that wait for tasks. They hold no lock while they run a kernel, which releases the interpreter's."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[tuple[_Call, Task]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._helpers = 0
        self._process = os.getpid()

    def run(self, tasks: Sequence[Task]) -> None:
        """Returns once all tasks are done; the last one runs in the calling thread."""
        if len(tasks) == 1:
            tasks[0]()
            return
        self._enlarge(len(tasks) - 1)
        call = _Call(len(tasks))
        for task in tasks[:-1]:
            self._tasks.put((call, task))
        call.run(tasks[-1])
        call.done.wait()
        if call.error is not None:
            raise call.error

    def _enlarge(self, helpers: int) -> None:
        if self._helpers >= helpers and self._process == os.getpid():
            return
        with self._lock:
            if self._process != os.getpid():  # threads do not survive a fork
                self._tasks, self._helpers, self._process = queue.SimpleQueue(), 0, os.getpid()
            while self._helpers < helpers:
                threading.Thread(target=_help, args=(self._tasks,), name="kernel helper", daemon=True).start()
                self._helpers += 1


def _help(tasks: queue.SimpleQueue[tuple[_Call, Task]]) -> None:
    while True:
        call, task = tasks.get()
        call.run(task)
        del call, task


TEAM = Team()


def shares(count: int, work: float) -> list[tuple[int, int]]:
    """`count` things in about equal parts, one for each thread if there are so many multiply-adds."""
    threads = 1 if work < _LEAST else max(1, min(count, get_num_threads()))
    return [(count * i // threads, count * (i + 1) // threads) for i in range(threads)]


class _Own(threading.local):
    memory: np.ndarray[Any, Any] | None = None


_own = _Own()


def workspace(size: int) -> int:
    """The address of so many bytes, which belong to this thread until it asks again."""
    found = _own.memory
    if found is None or found.nbytes < size + _LINE:
        found = _own.memory = np.zeros(size + _LINE, np.uint8)
    return found.ctypes.data + (-found.ctypes.data % _LINE)


def aligned(size: int) -> int:
    """Bytes in whole cache lines."""
    return -(-size // _LINE) * _LINE


__all__ = ["TEAM", "Task", "Team", "aligned", "shares", "workspace"]
