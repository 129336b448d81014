"""An iterator over the batches of a pass that requests them from workers in advance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.data.workers.worker_messages import PassStart, Request
from engine.data.workers.worker_pool import LoaderWorkers, WorkerResult


class PrefetchIterator(Iterator[Any]):
    """The batches of one pass. Workers take turns, so the worker of a batch does not depend on their speed.

    Args:
        pool: the workers
        workers: number of workers
        pass_start: the pass to start
        order: the sample indices of each batch
        first: number of the first batch in `order`
        first_returned: number of the first batch to return; earlier ones are skipped
        ahead: batches to request from each worker in advance
        in_order: return batches in order; otherwise as they become ready
        timeout: seconds to wait for a batch; 0 waits forever
    """

    def __init__(
        self,
        pool: LoaderWorkers,
        workers: int,
        pass_start: PassStart,
        order: Iterator[Any],
        *,
        first: int,
        first_returned: int,
        ahead: int,
        in_order: bool,
        timeout: float,
    ) -> None:
        self._pool = pool
        self._pass = pass_start.number
        self._order = order
        self._sent = self._next = first
        self._first_returned = first_returned
        self._in_order = in_order
        self._timeout = timeout
        self._owners: dict[int, int] = {}
        self._loads = dict.fromkeys(range(workers), 0)
        self._turn = 0
        pool.begin(pass_start)
        for _ in range(ahead * workers):
            self._request_next()

    def __next__(self) -> Any:
        while self._owners:
            answer = self._receive()
            if answer.is_end:
                self._loads.pop(answer.worker, None)
            elif answer.worker in self._loads:
                self._loads[answer.worker] -= 1
            self._request_next()
            if not answer.is_end and answer.number >= self._first_returned:
                return answer.batch
        raise StopIteration

    def _receive(self) -> WorkerResult:
        candidates = [self._owners[self._next]] if self._in_order else sorted(set(self._owners.values()))
        if self._pool.latest != self._pass:
            raise RuntimeError(
                "DataLoader: this iterator is invalid because a newer one uses the same persistent workers. "
                "Use one iterator at a time, or set persistent_workers=False."
            )
        answer = self._pool.receive(candidates, self._timeout)
        del self._owners[answer.number]
        self._next += 1
        return answer

    def _request_next(self) -> None:
        """Request the next batch from the worker with the fewest open requests; ties go in turn."""
        if not self._loads:
            return
        for indices in self._order:
            worker = min(self._loads, key=lambda w: (self._loads[w], w < self._turn, w))
            self._pool.send(worker, Request(self._pass, self._sent, indices, self._sent < self._first_returned))
            self._owners[self._sent] = worker
            self._loads[worker] += 1
            self._sent += 1
            self._turn = worker + 1
            return
