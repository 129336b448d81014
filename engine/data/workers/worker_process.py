"""The main loop of a worker process: it makes the requested batches until the loader closes the pipe.

It ignores Ctrl+C, which the parent process handles, and exits when the parent process ends.
"""

from __future__ import annotations

import contextlib
import copy
import os
import random
import signal
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

import numpy as np

from engine.data.batch_fetching import IterableDatasetFetcher, batch_random_state, set_augmentation_seed, set_epoch
from engine.data.workers.packing import pack, receive_message, send_message, unpack
from engine.data.workers.shared_memory import MemorySpan, SharedMemoryBlock, plan_spans, span_views
from engine.data.workers.worker_environment import set_environment
from engine.data.workers.worker_info import HERE, WorkerInfo
from engine.data.workers.worker_messages import STARTED, PassStart, PickledError, Reply, Request, WorkerSetup
from engine.random import manual_seed
from engine.system.config import set_num_threads

_JOIN_TIMEOUT = 5.0  # seconds to finish the current batch after the loader has closed the pipe


def main(
    number: int,
    content: bytes,
    arrays: SharedMemoryBlock | None,
    places: list[MemorySpan],
    requests: Connection,
    replies: Connection,
    environment: Mapping[str, str | None],
) -> None:
    """Entry point of the worker process.

    Args:
        number: index of the worker, from 0
        content: the packed WorkerSetup
        arrays: shared memory of its arrays
        places: spans of the arrays in that memory
        requests: connection that receives PassStart and Request
        replies: connection that sends Reply
        environment: environment variables to restore
    """
    set_environment(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inbox = _Inbox(requests)
    with contextlib.suppress(OSError):
        send_message(replies, STARTED)
    try:
        set_num_threads(1)
        memory = b"" if arrays is None else memoryview(arrays.memory)
        work: WorkerSetup = unpack(content, span_views(memory, places))
        begin(work, number)
    except Exception as error:  # noqa: BLE001 - the loader raises it
        with contextlib.suppress(OSError):
            send_message(replies, Reply(-1, -1, PickledError.of(error)))
        return
    _Worker(work, inbox, replies).run()


def begin(work: WorkerSetup, number: int, *, alone: bool = True) -> None:
    """Initialize a worker; a worker process also gets separate random seeds."""
    seed = work.seed + number
    HERE.info = WorkerInfo(number, work.workers, seed, work.source.dataset)
    if alone:
        random.seed(seed)
        np.random.seed(np.random.SeedSequence(seed).generate_state(4))  # noqa: NPY002 - user data sets may use it
        manual_seed(seed)
    if work.init is not None:
        work.init(number)


class BatchMaker:
    """Makes the requested batches of the current pass.

    Args:
        work: the setup of the worker
        alone: whether this worker has a separate copy of the data set
    """

    def __init__(self, work: WorkerSetup, *, alone: bool = True) -> None:
        self._source = copy.copy(work.source)  # the fetcher of a stream holds a position
        self._alone = alone
        self._seed = 0
        self._ended = False
        self._broken: Exception | None = None

    def begin(self, new: PassStart) -> None:
        """Start a pass. An exception is stored and raised by `make`."""
        self._seed, self._ended, self._broken = new.seed, False, None
        try:
            if self._alone and new.epoch is None:
                set_augmentation_seed(self._source.dataset, new.seed)
            elif self._alone and new.epoch is not None:
                set_epoch(self._source.dataset, *new.epoch)
            self._source.begin()
        except Exception as error:  # noqa: BLE001 - the loader raises it
            self._broken = error

    def make(self, request: Request) -> Any:
        """Make a batch. Raises StopIteration at the end of a stream."""
        if self._broken is not None:
            raise self._broken
        if self._ended:
            raise StopIteration
        with batch_random_state(self._seed, request.number):
            try:
                return self._source(request.indices, wanted=request.wanted)
            except BaseException:
                self._ended = isinstance(self._source, IterableDatasetFetcher)
                raise


class _Inbox:
    """Receives requests on a thread, so that the loader never blocks on a full pipe."""

    def __init__(self, requests: Connection) -> None:
        self._requests = requests
        self._queue: SimpleQueue[PassStart | Request | None] = SimpleQueue()
        self.latest = -1
        """The number of the pass that was started last."""
        self.closed = threading.Event()
        self.finished = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def get(self) -> PassStart | Request | None:
        """The next message; None once the pipe is closed."""
        found = self._queue.get()
        return None if self.closed.is_set() else found

    def _read(self) -> None:
        try:
            while True:
                message = receive_message(self._requests)
                if isinstance(message, PassStart):
                    self.latest = message.number
                self._queue.put(message)
        except (EOFError, OSError):
            self.closed.set()
            self._queue.put(None)
        if not self.finished.wait(_JOIN_TIMEOUT):
            os._exit(1)


class _Worker:
    def __init__(self, work: WorkerSetup, inbox: _Inbox, replies: Connection) -> None:
        self._maker = BatchMaker(work)
        self._inbox = inbox
        self._replies = replies
        self._segments: dict[int, SharedMemoryBlock] = {}
        self._made = 0

    def run(self) -> None:
        with contextlib.suppress(OSError):  # the loader has closed the pipe
            while (message := self._inbox.get()) is not None:
                if isinstance(message, PassStart):
                    self._maker.begin(message)
                else:
                    self._answer(message)
        self._inbox.finished.set()

    def _answer(self, request: Request) -> None:
        for dropped in request.dropped:
            self._segments.pop(dropped, None)
        reply = Reply(request.pass_number, request.number, segment=request.segment)
        new: SharedMemoryBlock | None = None
        if request.pass_number == self._inbox.latest:
            try:
                reply, new = self._made_for(request, reply)
            except StopIteration:
                reply = reply._replace(is_end=True)
            except Exception as error:  # noqa: BLE001 - the loader raises it
                reply = reply._replace(content=PickledError.of(error))
        send_message(self._replies, reply)
        if new is not None:
            new.send(self._replies)

    def _made_for(self, request: Request, reply: Reply) -> tuple[Reply, SharedMemoryBlock | None]:
        content, buffers = pack(self._maker.make(request))
        reply = reply._replace(content=content)
        if not buffers:
            return reply, None
        places, size = plan_spans(buffers)
        new = None
        segment = None if request.segment is None else self._segments[request.segment]
        if segment is None or segment.size < size:
            if request.segment is not None:
                del self._segments[request.segment]
            self._made += 1
            segment = new = self._segments[self._made] = SharedMemoryBlock(size + size // 8)
            reply = reply._replace(segment=self._made, made=new.size)
        segment.write(buffers, places)
        return reply._replace(places=tuple(places)), new
