"""Files written beside the training, which does not wait for the disk."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from studio.document.document_errors import FileError
from studio.training.failures import error_message

Job = Callable[[], str]
"""Returns what there is to say if the job of its kind before it had failed."""
_RETRY_SECONDS = 0.1


class BackgroundWriter:
    """Does jobs one after the other in a thread of its own. That a kind of job fails, and works again, is `news`.

    Of each kind the last job that failed is kept, to be tried again. One thread gives jobs.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[str, Job] | None] = queue.SimpleQueue()
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._problems: dict[str, str] = {}
        """Why the last job of a kind failed, if it did."""
        self._failed: dict[str, Job] = {}
        self._thread: threading.Thread | None = None
        self._waiting = 0
        self._done = threading.Condition()
        self.cost = 0.0
        """Seconds of computing that the last job took."""

    @property
    def is_busy(self) -> bool:
        return self._waiting > 0

    def put(self, kind: str, job: Job) -> None:
        """Have a job done in the writer's thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="gradwire-writer", daemon=True)
            self._thread.start()
        with self._done:
            self._waiting += 1
        self._jobs.put((kind, job))

    def attempt(self, kind: str, job: Job) -> None:
        """Do a job now, in this thread. Its kind must not be one that is `put`."""
        self._do(kind, job)

    def retry(self, kind: str) -> None:
        """Put the last job of a kind again if it failed, and none is on its way."""
        if not self.is_busy and (job := self._failed.pop(kind, None)) is not None:
            self.put(kind, job)

    def again(self, kind: str) -> None:
        """Do the last job of a kind again, in this thread, if it failed. Raises what the job does."""
        if (job := self._failed.get(kind)) is not None:
            job()

    def forget(self, kind: str) -> None:
        """Do not keep a job of this kind that failed: a newer one is coming."""
        self._failed.pop(kind, None)

    def wait(self) -> None:
        """Until all jobs are done."""
        with self._done:
            self._done.wait_for(lambda: not self.is_busy)

    def news(self) -> list[str]:
        """What has changed since the last call: of many jobs that fail for the same reason, only the first is told."""
        found: list[str] = []
        while not self._news.empty():
            found.append(self._news.get())
        return found

    def finish(self, seconds: float) -> list[str]:
        """Do what waits, and try again for some seconds what failed. Returns the kinds of which the last job failed."""
        self.wait()
        ends = time.monotonic() + seconds
        while self._failed and time.monotonic() < ends:
            time.sleep(_RETRY_SECONDS)
            for kind, job in list(self._failed.items()):
                self._do(kind, job)
        self.close()
        return list(self._failed)

    def close(self) -> None:
        """Do what waits, then end."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (work := self._jobs.get()) is not None:
            began = time.thread_time()
            try:
                self._do(*work)
            finally:
                self.cost = time.thread_time() - began
                with self._done:
                    self._waiting -= 1
                    self._done.notify_all()

    def _do(self, kind: str, job: Job) -> None:
        before, problem = self._problems.pop(kind, None), None
        try:
            told = job()
            self._failed.pop(kind, None)
        except Exception as error:  # noqa: BLE001 - told by `news`; later jobs are done all the same
            told = error_message(error)
            self._problems[kind] = problem = error.problem if isinstance(error, FileError) else told
            self._failed[kind] = job
        if problem != before:
            self._news.put(told)


__all__ = ["Job", "BackgroundWriter"]
