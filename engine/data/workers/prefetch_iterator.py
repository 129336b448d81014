"""The batches of a pass, asked of workers ahead of time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.data.workers.worker_messages import PassStart, Request
from engine.data.workers.worker_pool import WorkerPool, WorkerResult


class PrefetchIterator(Iterator[Any]):
    """Goes through a pass. Workers take turns, so which of them makes a batch does not depend on how fast they are.

    Args:
        crew: the workers
        workers: how many there are
        new: the pass
        order: what batches are made of, for each
        first: the number of the first batch that `order` has
        wanted: the number of the first batch that is wanted
        ahead: how many batches each worker is asked for before they are needed
        in_order: give batches in order; else as they are ready
        timeout: seconds to wait for a batch; 0 is for ever
    """

    def __init__(
        self,
        pool: WorkerPool,
        workers: int,
        new: PassStart,
        order: Iterator[Any],
        *,
        first: int,
        wanted: int,
        ahead: int,
        in_order: bool,
        timeout: float,
    ) -> None:
        self._pool = pool
        self._pass = new.number
        self._order = order
        self._sent = self._next = first
        self._wanted = wanted
        self._in_order = in_order
        self._timeout = timeout
        self._owners: dict[int, int] = {}
        self._loads = dict.fromkeys(range(workers), 0)
        self._turn = 0
        pool.begin(new)
        for _ in range(ahead * workers):
            self._ask()

    def __next__(self) -> Any:
        while self._owners:
            answer = self._receive()
            if answer.is_end:
                self._loads.pop(answer.worker, None)
            elif answer.worker in self._loads:
                self._loads[answer.worker] -= 1
            self._ask()
            if not answer.is_end and answer.number >= self._wanted:
                return answer.batch
        raise StopIteration

    def _receive(self) -> WorkerResult:
        whom = [self._owners[self._next]] if self._in_order else sorted(set(self._owners.values()))
        if self._pool.latest != self._pass:
            raise RuntimeError("DataLoader: another pass has begun with the same persistent workers; this one is over.")
        answer = self._pool.receive(whom, self._timeout)
        del self._owners[answer.number]
        self._next += 1
        return answer

    def _ask(self) -> None:
        """Ask the worker for a batch that has the fewest to do; in turn, where several have."""
        if not self._loads:
            return
        for indices in self._order:
            worker = min(self._loads, key=lambda w: (self._loads[w], w < self._turn, w))
            self._pool.send(worker, Request(self._pass, self._sent, indices, self._sent >= self._wanted))
            self._owners[self._sent] = worker
            self._loads[worker] += 1
            self._sent += 1
            self._turn = worker + 1
            return
