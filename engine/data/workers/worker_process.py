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
from engine.data.workers.shared_memory import MemorySpan, SharedMemorySegment, plan_spans, span_views
from engine.data.workers.worker_environment import set_environment
from engine.data.workers.worker_info import THREAD_STATE, WorkerInfo
from engine.data.workers.worker_messages import STARTED, PassStart, PickledError, Reply, Request, WorkerSetup
from engine.random import manual_seed
from engine.system.config import set_num_threads

_JOIN_TIMEOUT = 5.0  # seconds to finish the current batch after the loader has closed the pipe


def main(
    number: int,
    content: bytes,
    arrays: SharedMemorySegment | None,
    spans: list[MemorySpan],
    requests: Connection,
    replies: Connection,
    environment: Mapping[str, str | None],
) -> None:
    """Entry point of the worker process.

    Args:
        number: index of the worker, from 0
        content: the packed WorkerSetup
        arrays: shared memory of its arrays
        spans: spans of the arrays in that memory
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
        work: WorkerSetup = unpack(content, span_views(memory, spans))
        begin(work, number)
    except Exception as error:  # noqa: BLE001 - the loader raises it
        with contextlib.suppress(OSError):
            send_message(replies, Reply(-1, -1, PickledError.of(error)))
        return
    _Worker(work, inbox, replies).run()


def begin(work: WorkerSetup, number: int, *, owns_dataset: bool = True) -> None:
    """Initialize a worker; a worker process also gets separate random seeds."""
    seed = work.seed + number
    THREAD_STATE.info = WorkerInfo(number, work.workers, seed, work.source.dataset)
    if owns_dataset:
        random.seed(seed)
        np.random.seed(np.random.SeedSequence(seed).generate_state(4))  # noqa: NPY002 - user data sets may use it
        manual_seed(seed)
    if work.init is not None:
        work.init(number)


class BatchMaker:
    """Makes the requested batches of the current pass.

    Args:
        work: the setup of the worker
        owns_dataset: whether this worker has a separate copy of the data set
    """

    def __init__(self, work: WorkerSetup, *, owns_dataset: bool = True) -> None:
        self._source = copy.copy(work.source)  # the fetcher of a stream holds a position
        self._owns_dataset = owns_dataset
        self._seed = 0
        self._ended = False
        self._start_error: Exception | None = None

    def begin(self, pass_start: PassStart) -> None:
        """Start a pass. An exception is stored and raised by `make`."""
        self._seed, self._ended, self._start_error = pass_start.seed, False, None
        try:
            if self._owns_dataset and pass_start.epoch is None:
                set_augmentation_seed(self._source.dataset, pass_start.seed)
            elif self._owns_dataset and pass_start.epoch is not None:
                set_epoch(self._source.dataset, *pass_start.epoch)
            self._source.begin()
        except Exception as error:  # noqa: BLE001 - the loader raises it
            self._start_error = error

    def make(self, request: Request) -> Any:
        """Make a batch. Raises StopIteration at the end of a stream."""
        if self._start_error is not None:
            raise self._start_error
        if self._ended:
            raise StopIteration
        with batch_random_state(self._seed, request.number):
            try:
                return self._source(request.indices, skip=request.skip)
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
        self._segments: dict[int, SharedMemorySegment] = {}
        self._segment_count = 0

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
        new_segment: SharedMemorySegment | None = None
        if request.pass_number == self._inbox.latest:
            try:
                reply, new_segment = self._make_reply(request, reply)
            except StopIteration:
                reply = reply._replace(is_end=True)
            except Exception as error:  # noqa: BLE001 - the loader raises it
                reply = reply._replace(content=PickledError.of(error))
        send_message(self._replies, reply)
        if new_segment is not None:
            new_segment.send(self._replies)

    def _make_reply(self, request: Request, reply: Reply) -> tuple[Reply, SharedMemorySegment | None]:
        content, buffers = pack(self._maker.make(request))
        reply = reply._replace(content=content)
        if not buffers:
            return reply, None
        spans, size = plan_spans(buffers)
        new_segment = None
        segment = None if request.segment is None else self._segments[request.segment]
        if segment is None or segment.size < size:
            if request.segment is not None:
                del self._segments[request.segment]
            self._segment_count += 1
            segment = new_segment = self._segments[self._segment_count] = SharedMemorySegment(size + size // 8)
            reply = reply._replace(segment=self._segment_count, new_size=new_segment.size)
        segment.write(buffers, spans)
        return reply._replace(spans=tuple(spans)), new_segment
