"""The profiler: records the steps that a schedule selects."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any

from engine.profiler.averages import EventList, averages, write_chrome_trace
from engine.profiler.recorder import ProfilerEvent, Recorder


class ProfilerAction(Enum):
    """What the profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(Enum):
    """The activities that PyTorch's profiler can record."""

    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """Return {CPU}: GPU kernels run asynchronously and are not timed."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Return False: PyTorch's profiler records with Kineto, the engine's does not."""
    return False


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return a schedule: cycles of `wait` skipped, `warmup` discarded and `active` recorded steps.

    Args:
        wait: steps before the warm-up
        warmup: steps before the recording
        active: recorded steps
        repeat: cycles; 0 for any number
        skip_first: steps before the first cycle
        skip_first_wait: 1 to have no `wait` in the first cycle
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise ValueError("schedule(): active must be above 0, and the other numbers of steps at least 0")

    def action(step: int) -> ProfilerAction:
        position = step - skip_first
        if position < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            position += wait
        cycle, position = divmod(position, wait + warmup + active)
        if (repeat and cycle >= repeat) or position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if position == wait + warmup + active - 1 else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[Any], None]:
    """Return a function for `on_trace_ready` that writes each recording to a folder as a Chrome trace.

    Args:
        dir_name: the folder
        worker_name: start of the file's name; computer and process if left out
        use_gzip: must be False
        use_python_export: no effect
    """
    if use_gzip:
        raise ValueError("tensorboard_trace_handler() does not support compression. Omit use_gzip.")

    def write(profiler: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{platform.node()}_{os.getpid()}"
        profiler.export_chrome_trace(str(Path(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json")))

    return write


class profile:
    """Context manager that times the ops of this thread, and ranges named by `record_function`.

    Measures the time of NumPy kernels. Not measured: ops of compiled functions, which run in plans; GPU kernels, which
    run asynchronously; and ops of other threads.

    Args:
        activities: no effect: the CPU is timed
        schedule: what to do in each step, which `step` ends; default: record everything
        on_trace_ready: called with the profiler after each recording
        record_shapes, profile_memory, with_stack, with_flops, with_modules, acc_events, use_cuda: no effect
        experimental_config, execution_trace_observer, custom_trace_id_callback, post_processing_timeout_s: no effect
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self._schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self._on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self._schedule(0)
        self._recorder: Recorder | None = None
        self._events: list[ProfilerEvent] = []

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the first step."""
        self._record(self.current_action in RECORDS)

    def stop(self) -> None:
        """End the last step."""
        recorded = self._recorder is not None
        self._record(False)
        if recorded and self._on_trace_ready is not None:
            self._on_trace_ready(self)

    def step(self) -> None:
        """End the current step and start the next one."""
        ended = self.current_action
        self.step_num += 1
        self.current_action = self._schedule(self.step_num)
        if ended is ProfilerAction.RECORD_AND_SAVE:
            self.stop()
        self._record(self.current_action in RECORDS)

    def events(self) -> list[ProfilerEvent]:
        """Return the events of the last recording."""
        return self._events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """Return times by name. The arguments have no effect."""
        return averages(self._events)

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace for chrome://tracing or ui.perfetto.dev."""
        write_chrome_trace(self._events, path)

    def _record(self, is_recording: bool) -> None:
        if is_recording and self._recorder is None:
            recorder = Recorder()
            recorder.start()
            self._recorder, self._events = recorder, recorder.events
        elif not is_recording and self._recorder is not None:
            self._recorder.stop()
            self._recorder = None
