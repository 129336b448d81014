"""The processes of a sweep: one for each trial, so many at a time."""

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
"""Bytes of what a process has complained that may hold its last line."""


class WorkerPool:
    """Trains trials.

    Args:
        trials: for each, by number, the arguments of `trial_worker.run_trial`
        jobs: how many are trained at a time
        threads: how many each may compute with, where the environment does not say it
    """

    def __init__(self, trials: Mapping[int, Sequence[str]], jobs: int, threads: int) -> None:
        self._trials = trials
        self._jobs = jobs
        self._environment = {**dict.fromkeys(_THREADS, str(threads)), **os.environ}
        self._waiting = deque(trials)
        self._running: dict[int, subprocess.Popen[str]] = {}
        self._told: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()

    @property
    def is_over(self) -> bool:
        return not self._waiting and not self._running

    def events(self, timeout: float) -> list[tuple[int, dict[str, Any]]]:
        """What trials have told since the last call, with their numbers. Begins those that there is room for.

        The first about each is "begun", the last "ended", with its state.
        """
        while self._waiting and len(self._running) < self._jobs:
            self._begin(self._waiting.popleft())
        found: list[tuple[int, dict[str, Any]]] = []
        with suppress(queue.Empty):
            found.append(self._told.get(timeout=timeout))
            while True:
                found.append(self._told.get_nowait())
        for number, content in found:
            if content["event"] == "ended":
                self._running.pop(number, None)
        return found

    def stop(self) -> None:
        """Have those that are being trained end after the batch under way; begin no more."""
        self._waiting.clear()
        for process in self._running.values():
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()

    def kill(self) -> None:
        """End all at once, without waiting for them: also for handlers of signals."""
        self._waiting.clear()
        for process in list(self._running.values()):
            process.kill()

    def close(self) -> None:
        """End all that are left."""
        self.kill()
        for process in self._running.values():
            process.wait()
        self._running.clear()

    def _begin(self, number: int) -> None:
        complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed by who follows the process
        self._running[number] = process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, json.dumps(sys.path), *self._trials[number]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            encoding="utf-8",
            env={**self._environment, "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,  # Ctrl+C comes to the sweep alone
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._told.put((number, {"event": "begun"}))
        threading.Thread(target=_forward_events, args=(number, process, complaints, self._told), daemon=True).start()


def _forward_events(
    number: int, process: subprocess.Popen[str], complaints: IO[bytes], told: queue.SimpleQueue[Any]
) -> None:
    """Passes on what a process tells. One that ends without a word has failed."""
    ended: dict[str, Any] | None = None
    with complaints, process:
        assert process.stdout is not None
        for text in process.stdout:
            with suppress(ValueError):
                content = json.loads(text)
                if content["event"] == "ended":
                    ended = content
                else:
                    told.put((number, content))
        code = process.wait()
        if ended is None:
            told.put((number, {"event": "failed", "message": _exit_reason(code, complaints), "node": None}))
            ended = {"event": "ended", "state": "failed"}
    told.put((number, ended))


def _exit_reason(code: int, complaints: IO[bytes]) -> str:
    """Why a process may have ended."""
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        hint = " The system does that when memory runs out: try fewer --jobs." if name == "SIGKILL" else ""
        return f"its process was ended by {name}.{hint}"
    complaints.seek(max(complaints.seek(0, os.SEEK_END) - _TAIL, 0))
    lines = complaints.read().decode(errors="replace").strip().splitlines()
    return f"its process ended with exit code {code}{f': {lines[-1]}' if lines else ''}"


__all__ = ["WorkerPool"]
