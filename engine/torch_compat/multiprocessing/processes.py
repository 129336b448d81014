"""Processes that run one function each and whose errors are raised in `join`."""

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

from engine.system.syntax import format_traceback

GRACE_PERIOD = 30.0
"""Seconds until the remaining processes are killed after one failed."""


class ProcessException(Exception):  # noqa: N818 - PyTorch's name
    """Failure of the process with index `error_index` and process ID `error_pid`."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __str__(self) -> str:
        return self.msg


class ProcessRaisedException(ProcessException):
    """Failure by an error in the function; the message contains the traceback."""


class ProcessExitedException(ProcessException):
    """Failure by a non-zero exit code or a signal."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.args = (*self.args, exit_code, signal_name)
        self.exit_code, self.signal_name = exit_code, signal_name


class ProcessContext:
    """Group of processes, started by `start_processes`."""

    def __init__(self, processes: Sequence[BaseProcess], error_files: Sequence[Path]) -> None:
        self.processes = list(processes)
        self.error_files = list(error_files)
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        return [process.pid or 0 for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process exits. Returns whether all have exited.

        Args:
            timeout: seconds to wait
            grace_period: seconds until the remaining processes are killed after one failed

        Raises:
            ProcessException: a process failed; the others were terminated
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
            return ProcessExitedException(f"process {index} exited with code {code}", index, pid, code)
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return ProcessExitedException(f"process {index} was terminated by {name}", index, pid, code, name)

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
    """Run ``fn(index, *args)`` in `nprocs` processes, and wait for them if `join` is set.

    Unless `start_method` is "fork", the program requires `if __name__ == "__main__":` and `fn` must be importable.

    Raises:
        ProcessException: a process failed; the others were terminated
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
    """`start_processes` with the start method "spawn". Raises ValueError for other start methods."""
    if start_method != "spawn":
        raise ValueError(f"spawn() does not support start_method={start_method!r}. Use start_processes().")
    return start_processes(fn, args, nprocs, join, daemon)


def _call(fn: Callable[..., Any], index: int, args: tuple[Any, ...], error_file: str) -> None:
    """Run the function in a process; write an error to a file and exit with code 1."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception as error:  # noqa: BLE001 - raised again in join()
        Path(error_file).write_text(format_traceback(error), encoding="utf-8")
        sys.exit(1)
