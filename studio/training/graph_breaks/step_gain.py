"""Times one compiled training step of two versions of a project, in turn, so that other load disturbs both alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, TypeAlias

from engine import cuda
from engine.compiler import CompiledFunction
from engine.compiler.compile_progress import compile_state
from studio.lowering.program import lower
from studio.lowering.report import Report
from studio.training.compilation import compiled_step
from studio.training.run_settings import resolve_device

_RECORDING_STEPS = 5
"""Steps in which a version may still take new paths."""
_SECONDS = 1.0
"""Approximate time of the timed steps of both versions."""
_LEAST, _MOST = 9, 101
"""Least and most timed steps of each version."""
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class GainProgress:
    """How far the measurement is."""

    what: Literal["preparing", "compiling", "timing"]
    share: float


@dataclass(frozen=True, slots=True)
class StepGain:
    """Median seconds of one training step before and after a change."""

    before: float
    after: float
    steps: int
    """Timed steps of each version."""
    breaks_before: int
    breaks_after: int

    @property
    def ratio(self) -> float:
        """How many times faster the step is."""
        return self.before / max(self.after, 1e-12)


GainUpdate: TypeAlias = GainProgress | StepGain


def measure_gain(
    before: Callable[[], Report], after: Callable[[], Report], name: str | None = None
) -> Generator[GainUpdate, None, None]:
    """Time the compiled training step of two versions. Closing the generator cancels it.

    Args:
        before: returns the check of the first version, called in the thread that iterates
        after: returns that of the second version
        name: the project's name

    Yields:
        Progress, and the gain at the end.

    Raises:
        LoweringError: a version has errors.
    """
    yield GainProgress("preparing", 0.0)
    steps: list[_Step] = []
    for number, get_report in enumerate((before, after), start=1):
        step = _Step(get_report(), name)
        for _ in range(_RECORDING_STEPS):
            if not step.run_new_path():
                break
        steps.append(step)
        yield GainProgress("preparing", 0.2 * number)
    for number, step in enumerate(steps):
        while (share := step.ready_share()) < 1.0:
            yield GainProgress("compiling", 0.4 + 0.15 * (number + share))
            time.sleep(_POLL_SECONDS)
    seconds: tuple[list[float], list[float]] = ([], [])
    one = sum(step.run() for step in steps)
    count = min(max(round(_SECONDS / max(one, 1e-6)), _LEAST), _MOST)
    for index in range(count):
        for step, times in zip(steps, seconds, strict=True):
            times.append(step.run())
        yield GainProgress("timing", 0.7 + 0.3 * (index + 1) / count)
    first, second = steps
    yield StepGain(median(seconds[0]), median(seconds[1]), count, first.breaks, second.breaks)


class _Step:
    """The compiled training step of one version, on a copy of the model and the first batch."""

    def __init__(self, report: Report, name: str | None) -> None:
        training = report.document.training
        task = lower(report, name).build(device=resolve_device(training.device), seed=training.seed)
        batches = task.setup()
        self._task, self._batch = task, task.to_device(next(iter(batches.train)))
        self._is_on_gpu = str(resolve_device(training.device)).startswith("cuda")
        for module in task.modules.values():
            module.train()
        self._step: CompiledFunction = compiled_step(task)
        self._run: Callable[[Any, Any], Any] = self._step

    @property
    def breaks(self) -> int:
        """Graph breaks of the last step."""
        return compile_state(self._step, 1).breaks

    def run(self) -> float:
        """Run a step. Returns its seconds."""
        began = time.perf_counter()
        self._run(self._task, self._batch)
        if self._is_on_gpu:
            cuda.synchronize()
        return time.perf_counter() - began

    def run_new_path(self) -> bool:
        """Run a step. Returns whether it took a path that was not recorded."""
        before = self._step.recorded
        self.run()
        return self._step.recorded != before

    def ready_share(self) -> float:
        """The share of the kernels that are compiled, or cannot be."""
        state = compile_state(self._step, 1)
        return 1.0 if not state.kernels else (state.kernels_ready + state.kernels_failed) / state.kernels


__all__ = ["GainProgress", "GainUpdate", "StepGain", "measure_gain"]
