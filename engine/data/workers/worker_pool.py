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
from engine.data.workers.shared_memory import SharedMemoryBlock, plan_spans
from engine.data.workers.shared_memory_pool import SharedMemoryPool
from engine.data.workers.worker_environment import import_path_environment
from engine.data.workers.worker_messages import STARTED, PassStart, PickledError, Reply, Request, WorkerSetup

_JOIN_TIMEOUT = 6.0  # seconds for workers that are told to end; a little more than they give themselves


_GUARD = "Put what the main module does under `if __name__ == '__main__':`."


class WorkerResult(NamedTuple):
    """What a worker says to the request of this number."""

    worker: int
    number: int
    batch: Any
    is_end: bool = False
    """Whether its stream has no more."""


class WorkerPool(Protocol):
    """Workers by number. Each request that one is sent gets one answer, in turn."""

    @property
    def latest(self) -> int:
        """The number of the pass that began last."""
        ...

    def begin(self, new: PassStart) -> None:
        """Tell all that a pass begins."""
        ...

    def send(self, worker: int, request: Request) -> None: ...

    def receive(self, workers: Sequence[int], timeout: float) -> WorkerResult:
        """The next answer of any of these.

        Raises what the worker met; RuntimeError if it does not answer in time, or is no more.
        """
        ...

    @property
    def close(self) -> Callable[[], Any]:
        """Ends the workers; afterwards none is left."""
        ...


class ProcessWorkers:
    """Worker processes.

    Args:
        work: what they do
        context: how they are started, as `multiprocessing` has it
        ahead: how many batches are asked for before they are needed
    """

    def __init__(self, work: WorkerSetup, context: Any, ahead: int) -> None:
        _check_main()
        content, memory, places = _packed(work)
        self.latest = -1
        self._asked: list[dict[tuple[int, int], int | None]] = []
        self._memory_pools = [SharedMemoryPool(ahead + 1) for _ in range(work.workers)]
        self._requests: list[connection.Connection] = []
        self._replies: list[connection.Connection] = []
        self._processes: list[BaseProcess] = []
        self._started: set[int] = set()
        self._join_timeout = [_JOIN_TIMEOUT]
        channels = (self._requests, self._replies)
        self.close = weakref.finalize(self, _end, os.getpid(), self._processes, channels, self._join_timeout)
        try:
            for number in range(work.workers):
                self._start(context, number, (content, memory, places))
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
        self._asked.append({})
        name = f"DataLoader worker {number}"
        with import_path_environment() as environment, _without_interrupts(context):
            given = (number, *work, theirs, answers, environment)
            worker = context.Process(target=worker_process.main, args=given, name=name, daemon=True)
            worker.start()
        self._processes.append(worker)
        theirs.close()
        answers.close()

    def begin(self, new: PassStart) -> None:
        self.latest = new.number
        for worker in range(len(self._processes)):
            self._tell(worker, new)

    def send(self, worker: int, request: Request) -> None:
        segment, dropped = self._memory_pools[worker].offer()
        self._asked[worker][request.pass_number, request.number] = segment
        self._tell(worker, request._replace(segment=segment, dropped=dropped))

    def _tell(self, worker: int, message: PassStart | Request) -> None:
        with contextlib.suppress(BrokenPipeError):  # whoever waits for the answer finds out why
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
                asked = self._asked[worker].pop((reply.pass_number, reply.number), None)
                loans = self._memory_pools[worker]
                loans.take_in(reply, asked, self._replies[worker])
            except (EOFError, OSError):
                raise RuntimeError(self._exit_message(worker)) from None
            if reply.number < 0:  # it could not begin
                raise reply.content.exception(f"worker process {worker}")
            if reply.pass_number != self.latest:  # of a pass that was broken off
                loans.give_back(reply.segment)
                continue
            if isinstance(reply.content, PickledError):
                loans.give_back(reply.segment)
                raise reply.content.exception(f"worker process {worker}")
            if reply.is_end or reply.content is None:
                loans.give_back(reply.segment)
                return WorkerResult(worker, reply.number, None, reply.is_end)
            return WorkerResult(worker, reply.number, loans.open(reply))

    def _ready(self, workers: Sequence[int], end: float | None, timeout: float) -> int:
        """One of these workers that has an answer, or has died."""
        left = None if end is None else max(end - time.monotonic(), 0)
        if len(workers) == 1:
            if left is None or self._replies[workers[0]].poll(left):
                return workers[0]
        elif ready := connection.wait([self._replies[worker] for worker in workers], left):
            return self._replies.index(ready[0])  # pyright: ignore[reportArgumentType]
        self._join_timeout[0] = 0  # who is late now is not waited for at the end either
        raise timeout_error(workers, timeout)

    def _exit_message(self, worker: int) -> str:
        dead = self._processes[worker]
        dead.join(_JOIN_TIMEOUT)
        code = dead.exitcode
        if code is None:
            return f"DataLoader worker process {worker} (pid {dead.pid}) does not respond. Set num_workers=0."
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
            why = f"was killed by {name}"
            hint = " The system does that when memory runs out: try fewer workers." if name == "SIGKILL" else ""
        else:
            why = f"ended by itself with exit code {code}"
            hint = " Standard error may say more." if code else ""
            if worker not in self._started:
                why += " before it had imported the program's main module"
                hint = f" {_GUARD} Standard error has its traceback."
        return f"DataLoader worker process {worker} (pid {dead.pid}) {why}.{hint} num_workers=0 does without processes."


def start_method(method: Any) -> Any:
    """How worker processes are started: as is said, or so that no thread is lost on the way.

    Where there is a fork server, the library is loaded once, for all workers of a program.

    Raises ValueError for "fork": a copy of this process has no threads but holds their locks.
    """
    if method is None:
        chosen = multiprocessing.get_start_method(allow_none=True)
        method = chosen if chosen not in (None, "fork") else "forkserver" if sys.platform == "linux" else "spawn"
    context = multiprocessing.get_context(method) if isinstance(method, str) else method
    kind = context.get_start_method()
    if kind == "fork":
        raise ValueError(
            "DataLoader: multiprocessing_context 'fork' copies this process with the locks of its threads, but without "
            "the threads, so that workers stop for ever. Leave it out, or give 'forkserver', 'spawn' or 'threads'."
        )
    if kind == "forkserver":
        context.set_forkserver_preload([worker_process.__name__])
    return context


def timeout_error(workers: Sequence[int], timeout: float) -> RuntimeError:
    names = ", ".join(map(str, workers))
    return RuntimeError(
        f"DataLoader worker {names} gave no batch within timeout={timeout:g} seconds. Raise timeout, or set it to 0 to "
        "wait without end."
    )


def _packed(work: WorkerSetup) -> tuple[bytes, SharedMemoryBlock | None, list[tuple[int, int]]]:
    """The work, with its arrays in memory that all workers share."""
    remedy = (
        "Define its class, and every function that it holds, at the top level of a module; open files in the workers, "
        "on first use; or set num_workers=0."
    )
    try:
        content, buffers = pack(work)
    except Exception as error:
        check_picklable("the data set", work.source.dataset, remedy)
        for name, value in (("collate_fn", work.source.collate_fn), ("worker_init_fn", work.init)):
            check_picklable(name, value, "Define it with `def` at the top level of a module, or set num_workers=0.")
        raise TypeError(f"DataLoader: what workers are to do cannot be sent to them ({error}). {remedy}") from error
    places, size = plan_spans(buffers)
    if not size:
        return content, None, []
    memory = SharedMemoryBlock(size)
    memory.write(buffers, places)
    return content, memory, places


def _check_main() -> None:
    """Workers import the program's main module: one that starts workers as soon as it is imported never gets there."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RuntimeError(
            "DataLoader: the program's main module starts worker processes while it is imported by one of them. "
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


def _end(
    owner: int,
    processes: list[BaseProcess],
    channels: tuple[list[connection.Connection], ...],
    patience: list[float],
) -> None:
    if os.getpid() != owner:  # a copy of the process that has the workers
        return
    for channel in itertools.chain(*channels):
        channel.close()
    end = time.monotonic() + patience[0]
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
