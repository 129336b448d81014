"""Background writing of files, so that training does not wait for the disk."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from studio.document.document_errors import FileError
from studio.training.failures import error_message

Job = Callable[[], str]
"""A write; returns the message to show if the previous job of its kind had failed."""
_RETRY_SECONDS = 0.1


class BackgroundWriter:
    """Run write jobs in order in a background thread. `messages` reports failures and recoveries.

    The last failed job of each kind is kept for a retry. Jobs must be submitted from one thread.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[str, Job] | None] = queue.SimpleQueue()
        self._messages: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._problems: dict[str, str] = {}
        """Problem of the last job by kind, if it failed."""
        self._failed: dict[str, Job] = {}
        self._thread: threading.Thread | None = None
        self._waiting = 0
        self._done = threading.Condition()
        self.cost = 0.0
        """CPU seconds of the last job."""

    @property
    def is_busy(self) -> bool:
        return self._waiting > 0

    def put(self, kind: str, job: Job) -> None:
        """Queue a job for the writer's thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="gradwire-writer", daemon=True)
            self._thread.start()
        with self._done:
            self._waiting += 1
        self._jobs.put((kind, job))

    def run_now(self, kind: str, job: Job) -> None:
        """Run a job now, in this thread. Kinds passed to `put` are not allowed."""
        self._do(kind, job)

    def retry(self, kind: str) -> None:
        """Queue the last failed job of a kind again, unless the writer is busy."""
        if not self.is_busy and (job := self._failed.pop(kind, None)) is not None:
            self.put(kind, job)

    def rerun_failed(self, kind: str) -> None:
        """Run the last failed job of a kind again in this thread. Raises the job's errors."""
        if (job := self._failed.get(kind)) is not None:
            job()

    def discard_failed(self, kind: str) -> None:
        """Discard the failed job of a kind, because a newer one follows."""
        self._failed.pop(kind, None)

    def wait(self) -> None:
        """Wait until all jobs are done."""
        with self._done:
            self._done.wait_for(lambda: not self.is_busy)

    def messages(self) -> list[str]:
        """Messages since the last call; repeated failures with the same cause are reported once."""
        found: list[str] = []
        while not self._messages.empty():
            found.append(self._messages.get())
        return found

    def finish(self, seconds: float) -> list[str]:
        """Finish all jobs, retry failed ones for `seconds`, and close. Returns the kinds whose last job failed."""
        self.wait()
        ends = time.monotonic() + seconds
        while self._failed and time.monotonic() < ends:
            time.sleep(_RETRY_SECONDS)
            for kind, job in list(self._failed.items()):
                self._do(kind, job)
        self.close()
        return list(self._failed)

    def close(self) -> None:
        """Finish all jobs and end the thread."""
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
            message = job()
            self._failed.pop(kind, None)
        except Exception as error:  # noqa: BLE001 - reported in `messages`; later jobs still run
            message = error_message(error)
            self._problems[kind] = problem = error.problem if isinstance(error, FileError) else message
            self._failed[kind] = job
        if problem != before:
            self._messages.put(message)


__all__ = ["Job", "BackgroundWriter"]
