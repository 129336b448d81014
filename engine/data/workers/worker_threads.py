"""DataLoader workers that are threads of this process: they share the data set and start fast."""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from engine.data.workers.worker_info import THREAD_STATE
from engine.data.workers.worker_messages import PassStart, Request, WorkerSetup
from engine.data.workers.worker_pool import WorkerResult, timeout_error
from engine.data.workers.worker_process import BatchMaker, begin

_JOIN_TIMEOUT = 6.0  # seconds


class _ThreadResult(NamedTuple):
    pass_number: int
    answer: WorkerResult
    error: Exception | None = None


class ThreadWorkers:
    """Worker threads. They share the global generators of `random` and NumPy with the rest of the process."""

    def __init__(self, work: WorkerSetup) -> None:
        self._latest = [-1]
        self._requests: list[SimpleQueue[PassStart | Request | None]] = [SimpleQueue() for _ in range(work.workers)]
        self._results: SimpleQueue[_ThreadResult] = SimpleQueue()
        self._early_results: list[deque[_ThreadResult]] = [deque() for _ in range(work.workers)]
        started: list[threading.Thread] = []
        threads = [
            threading.Thread(
                target=_serve,
                args=(work, number, requests, self._results, self._latest),
                name=f"DataLoader worker {number}",
                daemon=True,
            )
            for number, requests in enumerate(self._requests)
        ]
        self.close = weakref.finalize(self, _stop, started, self._requests, self._latest)
        for thread in threads:
            try:
                thread.start()
            except RuntimeError as error:
                self.close()
                raise RuntimeError(
                    f"DataLoader: only {len(started)} of {len(threads)} worker threads started ({error}). "
                    "Use fewer workers."
                ) from None
            started.append(thread)

    @property
    def latest(self) -> int:
        return self._latest[0]

    def begin(self, pass_start: PassStart) -> None:
        self._latest[0] = pass_start.number
        for requests in self._requests:
            requests.put(pass_start)

    def send(self, worker: int, request: Request) -> None:
        self._requests[worker].put(request)

    def receive(self, workers: Sequence[int], timeout: float) -> WorkerResult:
        end = time.monotonic() + timeout
        while True:
            result = self._next(workers, end if timeout else None)
            if result is None:
                raise timeout_error(workers, timeout)
            if result.pass_number != self._latest[0]:  # from an abandoned pass
                continue
            if result.error is not None:
                result.error.add_note(f"In worker thread {result.answer.worker} of a DataLoader.")
                raise result.error
            return result.answer

    def _next(self, workers: Sequence[int], end: float | None) -> _ThreadResult | None:
        for worker in workers:
            if self._early_results[worker]:
                return self._early_results[worker].popleft()
        while True:
            try:
                result = self._results.get(timeout=None if end is None else max(end - time.monotonic(), 0))
            except Empty:
                return None
            if result.answer.worker in workers:
                return result
            self._early_results[result.answer.worker].append(result)


def _serve(
    work: WorkerSetup, number: int, requests: SimpleQueue[Any], results: SimpleQueue[_ThreadResult], latest: list[int]
) -> None:
    maker = BatchMaker(work, owns_dataset=False)
    start_error: Exception | None = None
    try:
        begin(work, number, owns_dataset=False)
    except Exception as error:  # noqa: BLE001 - `receive` raises it
        start_error = error
    while (message := requests.get()) is not None:
        if isinstance(message, PassStart):
            maker.begin(message)
        elif message.pass_number == latest[0]:
            try:
                if start_error is not None:
                    raise start_error
                answer, error = WorkerResult(number, message.number, maker.make(message)), None
            except StopIteration:
                answer, error = WorkerResult(number, message.number, None, is_end=True), None
            except Exception as caught:  # noqa: BLE001 - `receive` raises it
                answer, error = WorkerResult(number, message.number, None), caught
            results.put(_ThreadResult(message.pass_number, answer, error))
            del answer, error  # otherwise the batch stays alive until the next one
    THREAD_STATE.info = None


def _stop(threads: list[threading.Thread], requests: list[SimpleQueue[Any]], latest: list[int]) -> None:
    latest[0] = -1  # discard open requests
    for inbox in requests:
        inbox.put(None)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(_JOIN_TIMEOUT)
