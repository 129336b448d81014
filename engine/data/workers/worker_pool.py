"""Worker pools of a data loader: processes with shared memory, or threads."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple, Protocol

from engine.data.workers import worker_process
from engine.data.workers.packing import check_picklable, pack, receive_message, send_message
from engine.data.workers.shared_memory import SharedMemorySegment, plan_spans
from engine.data.workers.shared_memory_pool import SharedMemoryPool
from engine.data.workers.worker_environment import import_path_environment
from engine.data.workers.worker_messages import STARTED, PassStart, PickledError, Reply, Request, WorkerSetup

_JOIN_TIMEOUT = 6.0  # seconds for workers to exit; longer than the timeout in worker_process


_GUARD = "Put the code of the main module under `if __name__ == '__main__':`."


class WorkerResult(NamedTuple):
    """A worker's result for the request with this number."""

    worker: int
    number: int
    batch: Any
    is_end: bool = False
    """Whether the worker's stream has ended."""


class LoaderWorkers(Protocol):
    """Workers by number. A worker answers each request once, in the order of the requests."""

    @property
    def latest(self) -> int:
        """The number of the pass that was started last."""
        ...

    def begin(self, pass_start: PassStart) -> None:
        """Start a pass in all workers."""
        ...

    def send(self, worker: int, request: Request) -> None: ...

    def receive(self, workers: Sequence[int], timeout: float) -> WorkerResult:
        """The next result of any of these workers.

        Raises the worker's exception, or RuntimeError if it does not answer in time or has exited.
        """
        ...

    @property
    def close(self) -> Callable[[], Any]:
        """Stop all workers and wait for them."""
        ...


class ProcessWorkers:
    """Worker processes.

    Args:
        work: arguments of the workers
        context: a `multiprocessing` context, which decides the start method
        ahead: batches requested from each worker in advance
    """

    def __init__(self, work: WorkerSetup, context: Any, ahead: int) -> None:
        _check_main()
        content, memory, spans = _packed(work)
        self.latest = -1
        self._offered: list[dict[tuple[int, int], int | None]] = []
        self._memory_pools = [SharedMemoryPool(ahead + 1) for _ in range(work.workers)]
        self._requests: list[connection.Connection] = []
        self._replies: list[connection.Connection] = []
        self._processes: list[BaseProcess] = []
        self._started: set[int] = set()
        self._join_timeout = [_JOIN_TIMEOUT]
        channels = (self._requests, self._replies)
        self.close = weakref.finalize(self, _stop_workers, os.getpid(), self._processes, channels, self._join_timeout)
        try:
            for number in range(work.workers):
                self._start(context, number, (content, memory, spans))
        except BaseException:
            self.close()
            raise
        finally:
            if memory is not None:
                memory.forget_descriptor()

    def _start(self, context: Any, number: int, work: tuple[Any, ...]) -> None:
        theirs, requests = context.Pipe(duplex=False)
        replies, answers = context.Pipe()
        self._requests.append(requests)
        self._replies.append(replies)
        self._offered.append({})
        name = f"DataLoader worker {number}"
        with import_path_environment() as environment, _without_interrupts(context):
            arguments = (number, *work, theirs, answers, environment)
            worker = context.Process(target=worker_process.main, args=arguments, name=name, daemon=True)
            worker.start()
        self._processes.append(worker)
        theirs.close()
        answers.close()

    def begin(self, pass_start: PassStart) -> None:
        self.latest = pass_start.number
        for worker in range(len(self._processes)):
            self._send_message(worker, pass_start)

    def send(self, worker: int, request: Request) -> None:
        segment, dropped = self._memory_pools[worker].offer()
        self._offered[worker][request.pass_number, request.number] = segment
        self._send_message(worker, request._replace(segment=segment, dropped=dropped))

    def _send_message(self, worker: int, message: PassStart | Request) -> None:
        with contextlib.suppress(BrokenPipeError):  # `receive` reports the dead worker
            send_message(self._requests[worker], message)

    def receive(self, workers: Sequence[int], timeout: float) -> WorkerResult:
        end = time.monotonic() + timeout
        while True:
            worker = self._ready(workers, end if timeout else None, timeout)
            try:
                reply: Reply = receive_message(self._replies[worker])
                if reply == STARTED:
                    self._started.add(worker)
                    continue
                offered = self._offered[worker].pop((reply.pass_number, reply.number), None)
                memory_pool = self._memory_pools[worker]
                memory_pool.map_new_segment(reply, offered, self._replies[worker])
            except (EOFError, OSError):
                raise RuntimeError(self._exit_message(worker)) from None
            if reply.number < 0:  # the worker failed to start
                raise reply.content.exception(f"worker process {worker}")
            if reply.pass_number != self.latest:  # from an abandoned pass
                memory_pool.give_back(reply.segment)
                continue
            if isinstance(reply.content, PickledError):
                memory_pool.give_back(reply.segment)
                raise reply.content.exception(f"worker process {worker}")
            if reply.is_end or reply.content is None:
                memory_pool.give_back(reply.segment)
                return WorkerResult(worker, reply.number, None, reply.is_end)
            return WorkerResult(worker, reply.number, memory_pool.open(reply))

    def _ready(self, workers: Sequence[int], end: float | None, timeout: float) -> int:
        """One of these workers that has answered or exited."""
        remaining = None if end is None else max(end - time.monotonic(), 0)
        if len(workers) == 1:
            if remaining is None or self._replies[workers[0]].poll(remaining):
                return workers[0]
        elif ready := connection.wait([self._replies[worker] for worker in workers], remaining):
            return self._replies.index(ready[0])  # pyright: ignore[reportArgumentType]
        self._join_timeout[0] = 0  # a hanging worker would also delay `close`
        raise timeout_error(workers, timeout)

    def _exit_message(self, worker: int) -> str:
        process = self._processes[worker]
        process.join(_JOIN_TIMEOUT)
        code = process.exitcode
        if code is None:
            return f"DataLoader worker process {worker} (pid {process.pid}) does not respond. Set num_workers=0."
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
            reason = f"was killed by {name}"
            hint = " The system may be out of memory. Use fewer workers." if name == "SIGKILL" else ""
        else:
            reason = f"exited with code {code}"
            hint = " Check standard error for details." if code else ""
            if worker not in self._started:
                reason += " before it had imported the program's main module"
                hint = f" {_GUARD} The traceback is on standard error."
        return (
            f"DataLoader worker process {worker} (pid {process.pid}) {reason}.{hint} "
            "Set num_workers=0 to load without processes."
        )


def start_method(method: Any) -> Any:
    """The `multiprocessing` context for worker processes.

    Args:
        method: a start method or context; None selects the program's default, else forkserver on Linux, spawn elsewhere

    Raises ValueError for "fork": a forked process has the locks of other threads but not the threads.
    """
    if method is None:
        chosen = multiprocessing.get_start_method(allow_none=True)
        method = chosen if chosen not in (None, "fork") else "forkserver" if sys.platform == "linux" else "spawn"
    context = multiprocessing.get_context(method) if isinstance(method, str) else method
    kind = context.get_start_method()
    if kind == "fork":
        raise ValueError(
            "DataLoader: multiprocessing_context 'fork' copies the locks of threads but not the threads, so workers "
            "would deadlock. Leave it out, or set 'forkserver', 'spawn' or 'threads'."
        )
    if kind == "forkserver":
        context.set_forkserver_preload([worker_process.__name__])
    return context


def timeout_error(workers: Sequence[int], timeout: float) -> RuntimeError:
    names = ", ".join(map(str, workers))
    return RuntimeError(
        f"DataLoader worker {names} returned no batch within timeout={timeout:g} seconds. Increase timeout, or set it "
        "to 0 to wait forever."
    )


def _packed(work: WorkerSetup) -> tuple[bytes, SharedMemorySegment | None, list[tuple[int, int]]]:
    """The packed setup, with its arrays in memory that all workers share."""
    remedy = (
        "Define its class and functions at the top level of a module, open files on first use in the workers, or set "
        "num_workers=0."
    )
    try:
        content, buffers = pack(work)
    except Exception as error:
        check_picklable("the data set", work.source.dataset, remedy)
        for name, value in (("collate_fn", work.source.collate_fn), ("worker_init_fn", work.init)):
            check_picklable(name, value, "Define it with `def` at the top level of a module, or set num_workers=0.")
        raise TypeError(f"DataLoader: the loader cannot be sent to worker processes ({error}). {remedy}") from error
    spans, size = plan_spans(buffers)
    if not size:
        return content, None, []
    memory = SharedMemorySegment(size)
    memory.write(buffers, spans)
    return content, memory, spans


def _check_main() -> None:
    """Raises RuntimeError in a worker that starts workers itself while it imports the program's main module."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RuntimeError(
            "DataLoader: a worker process cannot start workers while it imports the program's main module. "
            f"{_GUARD} Or set num_workers=0."
        )


@contextlib.contextmanager
def _without_interrupts(context: Any) -> Iterator[None]:
    """Block SIGINT while a worker is spawned: the parent process handles Ctrl+C."""
    if context.get_start_method() != "spawn" or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stop_workers(
    owner: int,
    processes: list[BaseProcess],
    channels: tuple[list[connection.Connection], ...],
    join_timeout: list[float],
) -> None:
    if os.getpid() != owner:  # a fork of the process that owns the workers
        return
    for channel in itertools.chain(*channels):
        channel.close()
    end = time.monotonic() + join_timeout[0]
    for worker in processes:
        worker.join(max(end - time.monotonic(), 0))
    for stop in (BaseProcess.terminate, BaseProcess.kill):
        for worker in processes:
            if worker.is_alive():
                stop(worker)
                worker.join(1)
    for worker in processes:
        with contextlib.suppress(ValueError):
            worker.close()
