"""Files written beside the training, which does not wait for the disk."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

Job = Callable[[], None]


class Writer:
    """Does jobs one after the other in a thread of its own. What a job fails with is told by `errors`."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._failed: queue.SimpleQueue[Exception] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._waiting = 0
        self._lock = threading.Lock()
        self.cost = 0.0
        """Seconds of computing that the last job took."""

    @property
    def is_busy(self) -> bool:
        return self._waiting > 0

    def put(self, job: Job) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="gradwire-writer", daemon=True)
            self._thread.start()
        with self._lock:
            self._waiting += 1
        self._jobs.put(job)

    def errors(self) -> list[Exception]:
        """Those since the last call."""
        found: list[Exception] = []
        while not self._failed.empty():
            found.append(self._failed.get())
        return found

    def close(self) -> None:
        """Do what waits, then end."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            began = time.thread_time()
            try:
                job()
            except Exception as error:  # noqa: BLE001 - told by `errors`; later jobs are done all the same
                self._failed.put(error)
            finally:
                self.cost = time.thread_time() - began
                with self._lock:
                    self._waiting -= 1


__all__ = ["Job", "Writer"]
