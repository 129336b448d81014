"""Measures the training steps of a task while it trains, without changing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine import fit
from engine.compiler.plan import ExecutionPlan
from engine.compiler.plan.plan_timing import PlanTiming, TimedRun
from engine.profiler.op_timer import OpEvent, OpTimer


@dataclass(frozen=True, slots=True)
class PlanRun:
    """A run of a plan in a step."""

    plan: ExecutionPlan
    run: TimedRun


@dataclass(frozen=True, slots=True)
class MeasuredStep:
    """A measured step. Times are those of `time.perf_counter_ns`."""

    number: int
    start: int
    end: int
    waiting: int
    call: int
    """Time in the compiled function; 0 in eager mode."""
    batch_size: int
    runs: tuple[PlanRun, ...]
    ops: tuple[OpEvent, ...]
    """Ops that ran one by one."""


class StepProfiler:
    """Measures steps from `start` to `stop`, both called in the thread that trains.

    Args:
        task: the task that trains
        compiled: whether its steps are compiled
    """

    def __init__(self, task: fit.Task, *, compiled: bool) -> None:
        self._task = task
        self.is_compiled = compiled and task.step is not None
        self.steps: list[MeasuredStep] = []
        self._timings: dict[ExecutionPlan, PlanTiming] = {}
        self._ops = OpTimer(observes=not self.is_compiled)
        self._has_started = False

    def start(self) -> None:
        """Measure the steps from now on."""
        self._has_started = True
        self._time_new_plans()
        self._ops.__enter__()

    def add(self, event: fit.Step) -> None:
        """Note a step, before the next one."""
        end = round(event.ended * 1e9)
        start = end - round(event.seconds * 1e9)
        runs = [
            PlanRun(plan, run)
            for plan, timing in self._timings.items()
            for run in timing.take()
            if start <= run.start and run.end <= end
        ]
        is_replayed = self.is_compiled and self._task.step is not None and self._task.step.replayed is not None
        ops = [op for op in self._ops.events if not is_replayed and start <= op.start and op.end <= end]
        self._ops.events.clear()
        call = 0 if self._task.step is None or not self.is_compiled else round(self._task.step.seconds * 1e9)
        size = round(event.samples_per_second * event.seconds)
        runs.sort(key=lambda one: one.run.start)
        waiting = round(event.waiting * 1e9)
        self.steps.append(MeasuredStep(event.step, start, end, waiting, call, size, tuple(runs), tuple(ops)))
        self._time_new_plans()

    def stop(self) -> None:
        """Let the steps run as before. A second call has no effect."""
        if not self._has_started:
            return
        self._has_started = False
        self._ops.__exit__(None, None, None)
        for plan in self._timings:
            plan.stop_timing()

    def _time_new_plans(self) -> None:
        step = self._task.step
        for plan in () if step is None or not self.is_compiled else step.plans:
            if isinstance(plan, ExecutionPlan) and plan not in self._timings:
                self._timings[plan] = plan.start_timing()


def waiting_kernels(task: fit.Task) -> int:
    """Number of kernels of the training step that are still compiling."""
    plans: Sequence[Any] = () if task.step is None else task.step.plans
    return sum(
        not kernel.ready and not kernel.failure
        for plan in plans
        if isinstance(plan, ExecutionPlan)
        for kernel in plan.kernels.values()
    )


__all__ = ["MeasuredStep", "PlanRun", "StepProfiler", "waiting_kernels"]
