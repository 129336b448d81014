"""Processes that call one function, each with its index, and whose errors are raised where they are waited for."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from engine.system.syntax import account_of

GRACE_PERIOD = 30.0
"""Seconds that other processes have to end after one failed, before they are killed."""


class ProcessException(Exception):  # noqa: N818 - PyTorch's name
    """A process failed: `error_index` is its index, `error_pid` its process ID."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __str__(self) -> str:
        return self.msg


class ProcessRaisedException(ProcessException):
    """The function raised an error, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """The process ended with an exit code other than 0, or by a signal."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.args = (*self.args, exit_code, signal_name)
        self.exit_code, self.signal_name = exit_code, signal_name


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: Sequence[BaseProcess], error_files: Sequence[Path]) -> None:
        self.processes = list(processes)
        self.error_files = list(error_files)
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        return [process.pid or 0 for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until a process ends. Returns whether all have ended.

        Args:
            timeout: seconds to wait
            grace_period: seconds that the others have to end by themselves after one failed

        Raises:
            ProcessException: a process failed; the others were ended
        """
        for sentinel in connection.wait(list(self.sentinels), timeout) if self.sentinels else ():
            index = self.sentinels.pop(sentinel)  # pyright: ignore[reportArgumentType]
            self.processes[index].join()
            if self.processes[index].exitcode:
                self._end_all(grace_period)
                raise self._failure(index)
        if not self.sentinels:
            self._remove_files()
        return not self.sentinels

    def _end_all(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._wait(grace_period)
        for end in (BaseProcess.terminate, BaseProcess.kill):
            for process in self.processes:
                if process.is_alive():
                    end(process)
            self._wait(GRACE_PERIOD if grace_period is None else grace_period)

    def _wait(self, seconds: float) -> None:
        limit = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0, limit - time.monotonic()))

    def _failure(self, index: int) -> ProcessException:
        process = self.processes[index]
        code, pid = process.exitcode or 0, process.pid or 0
        text = self.error_files[index].read_text(encoding="utf-8")
        self._remove_files()
        if text:
            return ProcessRaisedException(f"Process {index} raised an error:\n{text}", index, pid)
        if code > 0:
            return ProcessExitedException(f"process {index} ended with exit code {code}", index, pid, code)
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return ProcessExitedException(f"process {index} was ended by {name}", index, pid, code, name)

    def _remove_files(self) -> None:
        for file in self.error_files:
            file.unlink(missing_ok=True)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Calls ``fn(index, *args)`` in `nprocs` processes; returns once all have ended, or at once unless `join`.

    The program needs `if __name__ == "__main__":`, and `fn` must be importable, unless `start_method` is "fork".

    Raises:
        ProcessException: a process failed; the others were ended
    """
    context = multiprocessing.get_context(start_method)
    processes: list[BaseProcess] = []
    files: list[Path] = []
    for index in range(nprocs):
        handle, name = tempfile.mkstemp(prefix="engine-process-", suffix=".txt")
        os.close(handle)
        files.append(Path(name))
        processes.append(context.Process(target=_call, args=(fn, index, args, name), daemon=daemon))  # pyright: ignore[reportAttributeAccessIssue]
        processes[-1].start()
    started = ProcessContext(processes, files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes` with new interpreters. Raises ValueError for another `start_method`."""
    if start_method != "spawn":
        raise ValueError(f"spawn() starts new interpreters; use start_processes() for {start_method!r}")
    return start_processes(fn, args, nprocs, join, daemon)


def _call(fn: Callable[..., Any], index: int, args: tuple[Any, ...], error_file: str) -> None:
    """What each process runs: an error is written to a file, and the exit code is 1."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception as error:  # noqa: BLE001 - raised again in the process that waits
        Path(error_file).write_text(account_of(error), encoding="utf-8")
        sys.exit(1)
