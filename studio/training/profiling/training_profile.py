"""Profiles of a training: of a copy of a project, or of a training that runs."""

from __future__ import annotations

import time
from collections.abc import Collection, Generator, Sequence
from contextlib import closing
from typing import TypeAlias

from engine import fit
from engine.compiler.plan import ExecutionPlan
from studio.document.blocks.block_expansion import flat_document
from studio.document.model import Document
from studio.lowering.program import Program, lower
from studio.lowering.report import Report
from studio.training.failures import failure_event
from studio.training.profiling.memory_accounting import eager_memory, planned_memory
from studio.training.profiling.profile_assembly import ProfileAssembly, counted_steps
from studio.training.profiling.profile_data import MemoryProfile, Profile, ProfileStage
from studio.training.profiling.step_profiler import MeasuredStep, StepProfiler, waiting_kernels
from studio.training.run_settings import resolve_device

DEFAULT_STEPS = 10
MAX_STEPS = 1000
STAGE_SECONDS = 0.1
"""Seconds between stages while steps are measured."""
_STALL_SECONDS = 60.0
"""Seconds without a new kernel after which a profile waits no longer; NumPy computes those that are missing."""
_POLL_SECONDS = 0.05
"""Seconds between checks of the kernels that are compiling."""
_WARM_UP_STEPS = 3
"""Steps before the measured ones: they load code and allocate memory."""
_MAX_WARM_UP_STEPS = 12
"""Steps after which a compiled step that keeps running Python is measured."""


ProfileUpdate: TypeAlias = ProfileStage | Profile


class ProfileError(Exception):
    """The steps cannot be profiled. The text is for the user.

    Args:
        node: the node that failed, if known
    """

    def __init__(self, message: str, node: str | None = None) -> None:
        super().__init__(message)
        self.node = node


def profile_project(
    report: Report, *, steps: int = DEFAULT_STEPS, eager: bool = False, name: str | None = None
) -> Generator[ProfileUpdate, None, None]:
    """Profiles training steps of a copy of a project. Closing the generator cancels it.

    Args:
        report: the check of the project
        steps: measured steps
        eager: run ops one by one, also if the project compiles its steps
        name: the project's name

    Yields:
        Stages, and the profile at the end.

    Raises:
        LoweringError: the project has errors.
        ProfileError: a step fails, or the data cannot be read.
    """
    yield ProfileStage("preparing")
    program = lower(report, name)
    try:
        yield from _profile_copy(report, program, steps=steps, eager=eager, name=name or "project")
    except ProfileError:
        raise
    except Exception as error:
        failure = failure_event(error, program)
        raise ProfileError(failure.message, failure.node) from error


def _profile_copy(
    report: Report, program: Program, *, steps: int, eager: bool, name: str
) -> Generator[ProfileUpdate, None, None]:
    training = report.document.training
    compiled = training.compile and not eager
    task = program.build(device=resolve_device(training.device), seed=training.seed)
    with closing(fit.fit(task, steps=2**40, validate_epochs=0, compile=compiled)) as events:
        kernels = KernelWait(task)
        before = yield from _warm_up(task, events, kernels)
        collector = ProfileCollector(
            task,
            program,
            report.document,
            compiled=compiled,
            steps=steps,
            before=before,
            has_stalled=kernels.has_stalled,
        )
        with closing(collector):
            collector.start()
            shown = time.monotonic()
            for event in events:
                if isinstance(event, fit.Step):
                    collector.add(event)
                    if time.monotonic() - shown >= STAGE_SECONDS:  # the receiver would disturb short steps
                        yield ProfileStage("measuring", len(collector.steps), steps)
                        shown = time.monotonic()
                if collector.is_complete:
                    break
        if not collector.steps:
            raise ProfileError("The training ended before a step was measured. Choose other data.")
        yield collector.profile(name)


class KernelWait:
    """Waits for the kernels of a training step while some become ready; after a stall, it never waits again."""

    def __init__(self, task: fit.Task) -> None:
        self._task = task
        self.has_stalled = False
        """Whether no kernel became ready for `_STALL_SECONDS`."""

    def stages(self) -> Generator[ProfileStage, None, None]:
        """Yields the progress until all kernels are ready or cannot be compiled."""
        total = waiting = waiting_kernels(self._task)
        last = time.monotonic()
        while waiting and not self.has_stalled:
            yield ProfileStage("compiling", total - waiting, total)
            time.sleep(_POLL_SECONDS)  # the receiver of a stage may cancel
            before, waiting = waiting, waiting_kernels(self._task)
            if waiting < before:
                last = time.monotonic()
            self.has_stalled = time.monotonic() - last >= _STALL_SECONDS


def _warm_up(task: fit.Task, events: fit.Training, kernels: KernelWait) -> Generator[ProfileStage, None, float]:
    """Trains until steps run as they will from then on. Returns the seconds of the last step."""
    seconds, count = 0.0, 0
    for event in events:
        if not isinstance(event, fit.Step):
            continue
        seconds, count = event.seconds, count + 1
        yield from kernels.stages()
        # How many more steps it takes until plans are settled is unknown.
        yield ProfileStage("warming up", count, _WARM_UP_STEPS if count <= _WARM_UP_STEPS else 0)
        if (count >= _WARM_UP_STEPS and _is_settled(task)) or count == _MAX_WARM_UP_STEPS:
            break
    return seconds


def _is_settled(task: fit.Task) -> bool:
    """Whether the next steps run like the last one."""
    step = task.step
    return step is None or not step.may_replay or step.replayed is not None or bool(step.replays.refused)


class ProfileCollector:
    """Collects measured steps of a training, in the thread that trains.

    Args:
        before: seconds of a step before
        has_stalled: whether the warm-up has given up waiting for kernels
    """

    def __init__(
        self,
        task: fit.Task,
        program: Program,
        document: Document,
        *,
        compiled: bool,
        steps: int,
        before: float,
        has_stalled: bool = False,
    ) -> None:
        self._task, self._program, self._count, self._before = task, program, steps, before
        self._has_stalled = has_stalled
        self._nodes: Collection[str] = flat_document(document).nodes.keys()
        self._profiler = StepProfiler(task, compiled=compiled)

    @property
    def steps(self) -> Sequence[MeasuredStep]:
        return self._profiler.steps

    @property
    def is_complete(self) -> bool:
        return len(self.steps) >= self._count

    def start(self) -> None:
        """Measure the steps from now on."""
        self._profiler.start()

    def add(self, event: fit.Step) -> None:
        """Note a step, before the next one."""
        self._profiler.add(event)

    def drop_last(self) -> None:
        """Discard the last step, because something else ran during it."""
        self._profiler.steps.pop()

    def close(self) -> None:
        """Let the steps run as before."""
        self._profiler.stop()

    def profile(self, name: str) -> Profile:
        """The profile of at least one step. Call it after `close`."""
        self.close()
        assembly = ProfileAssembly(self._task, self._program, compiled=self._profiler.is_compiled)
        return assembly.profile(
            name, self.steps, self._memory(), unprofiled_seconds=self._before, notes=list(self._notes())
        )

    def _memory(self) -> MemoryProfile:
        if not self._profiler.is_compiled:
            return eager_memory(self._task, self._program, self._nodes)
        plans: list[ExecutionPlan] = list(dict.fromkeys(one.plan for one in counted_steps(self.steps)[0].runs))
        return planned_memory(self._task, self._program, self._nodes, plans)

    def _notes(self) -> Generator[str, None, None]:
        waiting = waiting_kernels(self._task)
        if not waiting or not self._profiler.is_compiled:
            return
        kernels = "1 kernel is" if waiting == 1 else f"{waiting} kernels are"
        stalled = f" after {_STALL_SECONDS:g} seconds without progress" if self._has_stalled else ""
        yield (
            f"{kernels} not compiled{stalled}. NumPy computes the same results more slowly. "
            "Profile again later to measure the compiled kernels."
        )


__all__ = [
    "DEFAULT_STEPS",
    "MAX_STEPS",
    "STAGE_SECONDS",
    "ProfileCollector",
    "ProfileError",
    "ProfileStage",
    "ProfileUpdate",
    "profile_project",
]
