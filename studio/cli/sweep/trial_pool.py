"""Worker processes of a sweep: one per trial, with a limit on parallel trials."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

_START = """
import json, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.path[:] = json.loads(sys.argv[1])
from studio.cli.sweep.trial_worker import run_trial
run_trial(*sys.argv[2:])
"""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_TAIL = 4000
"""Bytes read from the end of a worker's standard error."""


class TrialPool:
    """Run trials in worker processes.

    Args:
        trials: arguments of `trial_worker.run_trial` by trial number
        jobs: number of parallel workers
        threads: compute threads per worker, unless the environment sets them
    """

    def __init__(self, trials: Mapping[int, Sequence[str]], jobs: int, threads: int) -> None:
        self._trials = trials
        self._jobs = jobs
        self._environment = {**dict.fromkeys(_THREADS, str(threads)), **os.environ}
        self._waiting = deque(trials)
        self._running: dict[int, subprocess.Popen[str]] = {}
        self._events: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()

    @property
    def is_over(self) -> bool:
        return not self._waiting and not self._running

    def events(self, timeout: float) -> list[tuple[int, dict[str, Any]]]:
        """Start waiting trials while workers are free, and return new events with their trial numbers.

        The first event of a trial is "begun", the last is "ended" with its state.
        """
        while self._waiting and len(self._running) < self._jobs:
            self._begin(self._waiting.popleft())
        found: list[tuple[int, dict[str, Any]]] = []
        with suppress(queue.Empty):
            found.append(self._events.get(timeout=timeout))
            while True:
                found.append(self._events.get_nowait())
        for number, content in found:
            if content["event"] == "ended":
                self._running.pop(number, None)
        return found

    def stop(self) -> None:
        """Stop running trials after their current batch, and start no further ones."""
        self._waiting.clear()
        for process in self._running.values():
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()

    def kill(self) -> None:
        """Kill all workers without waiting. Safe to call from a signal handler."""
        self._waiting.clear()
        for process in list(self._running.values()):
            process.kill()

    def close(self) -> None:
        """Kill remaining workers and wait for them."""
        self.kill()
        for process in self._running.values():
            process.wait()
        self._running.clear()

    def _begin(self, number: int) -> None:
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 - _forward_events closes it
        self._running[number] = process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, json.dumps(sys.path), *self._trials[number]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            encoding="utf-8",
            env={**self._environment, "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,  # Ctrl+C reaches only the sweep
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._events.put((number, {"event": "begun"}))
        threading.Thread(target=_forward_events, args=(number, process, stderr, self._events), daemon=True).start()


def _forward_events(
    number: int, process: subprocess.Popen[str], stderr: IO[bytes], events: queue.SimpleQueue[Any]
) -> None:
    """Forward a worker's events. A worker that exits without an "ended" event has failed."""
    ended: dict[str, Any] | None = None
    with stderr, process:
        assert process.stdout is not None
        for text in process.stdout:
            with suppress(ValueError):
                content = json.loads(text)
                if content["event"] == "ended":
                    ended = content
                else:
                    events.put((number, content))
        code = process.wait()
        if ended is None:
            events.put((number, {"event": "failed", "message": _exit_reason(code, stderr), "node": None}))
            ended = {"event": "ended", "state": "failed"}
    events.put((number, ended))


def _exit_reason(code: int, stderr: IO[bytes]) -> str:
    """Why a worker process exited."""
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        hint = " This usually means that memory ran out. Lower --jobs." if name == "SIGKILL" else ""
        return f"the worker process was killed by {name}.{hint}"
    stderr.seek(max(stderr.seek(0, os.SEEK_END) - _TAIL, 0))
    lines = stderr.read().decode(errors="replace").strip().splitlines()
    return f"the worker process exited with code {code}{f': {lines[-1]}' if lines else ''}"


__all__ = ["TrialPool"]
