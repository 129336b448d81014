"""Recorder of the start and duration of kernels and named ranges of a thread."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

from engine.modes import MODES
from engine.ops.record import op_name

F = TypeVar("F", bound=Callable[..., Any])


class ProfilerEvent(NamedTuple):
    """A kernel or named range. Times are in nanoseconds."""

    name: str
    start: int
    duration: int
    within: int
    """Time of nested events."""
    is_range: bool


class Recorder:
    """Recorder of the events of this thread between `start` and `stop`."""

    def __init__(self) -> None:
        self.events: list[ProfilerEvent] = []
        self.open: list[int] = [0]
        """Time of nested events, per open range. The first entry is for events outside of ranges."""

    def start(self) -> None:
        if ACTIVE.recorder is not None:
            raise RuntimeError("profile: another profiler is recording in this thread. Stop it first.")
        ACTIVE.recorder, self._call_silently = self, MODES.call_silently
        call_kernels_by(self._timed)

    def stop(self) -> None:
        ACTIVE.recorder = None
        call_kernels_by(self._call_silently)

    def _timed(self, kernel: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter_ns()
        try:
            return self._call_silently(kernel, *args, **kwargs)
        finally:
            self.note(op_name(kernel), start)

    def note(self, name: str, start: int, within: int = 0, *, is_range: bool = False) -> None:
        """Add an event that started at `start` and ends now."""
        duration = time.perf_counter_ns() - start
        self.open[-1] += duration
        self.events.append(ProfilerEvent(name, start, duration, within, is_range))


class _Active(threading.local):
    recorder: Recorder | None = None


ACTIVE = _Active()


def call_kernels_by(call: Callable[..., Any]) -> None:
    """Set the function that calls NumPy kernels in this thread."""
    MODES.call_silently = call
    MODES.fast_call = None if MODES.interceptors else call


class record_function:
    """Time a named range of a program in `profile`, as a context manager or a decorator.

    Args:
        name: name of the range
        args: additional text for the name
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._starts: list[tuple[Recorder, int] | None] = []

    def __enter__(self) -> record_function:
        recorder = ACTIVE.recorder
        if recorder is not None:
            recorder.open.append(0)
        self._starts.append(None if recorder is None else (recorder, time.perf_counter_ns()))
        return self

    def __exit__(self, *error: object) -> None:
        opened = self._starts.pop()
        if opened is not None:
            recorder, start = opened
            recorder.note(self.name, start, recorder.open.pop(), is_range=True)

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return cast(F, wrapped)
