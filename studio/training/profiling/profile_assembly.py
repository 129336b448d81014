"""Makes a profile of measured steps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from engine import fit
from engine.compiler.plan import ExecutionPlan
from engine.compiler.plan_costs import StepCost, step_cost
from engine.profiler.op_timer import OpEvent
from studio.lowering.program import Program
from studio.training.profiling.op_owners import OpOwners
from studio.training.profiling.profile_data import (
    KernelProfile,
    MemoryProfile,
    Phase,
    Profile,
    ProfilePart,
    StepTime,
    TimelineEvent,
)
from studio.training.profiling.step_profiler import MeasuredStep

COPIES = "Copies of results"
WRITES = "Writes of parameters and buffers"
WAITING = "Waiting for data"
BETWEEN = "Python between kernels"
LOOP = "Training loop"
Owner: TypeAlias = tuple[Phase, str]


@dataclass(slots=True, eq=False)
class _Kernel:
    """A kernel with its owners and what was measured of it."""

    name: str
    kind: Literal["kernel", "call", "op", "view"]
    shares: Mapping[Owner, float]
    """Share of the kernel by phase and node."""
    ops: int = 1
    read: int = 0
    written: int = 0
    flops: int = 0
    dtype: str = ""
    nanoseconds: int = 0
    runs: int = 0
    number: int = field(default=-1)

    @property
    def main_phase(self) -> Phase:
        """The phase with the largest share."""
        shares = self.shares
        return max(shares, key=lambda owner: shares[owner])[0]


@dataclass(frozen=True, slots=True)
class _Interval:
    """A measured interval: a kernel, or another part of a step."""

    start: int
    end: int
    kernel: _Kernel | None
    title: str
    phase: Phase


class ProfileAssembly:
    """Assigns the measured times of steps to phases, nodes and kernels.

    Args:
        loaders: names of the nodes that make batches
    """

    def __init__(self, task: fit.Task, program: Program, *, compiled: bool) -> None:
        self._owners = OpOwners(program, task)
        self._loaders = ", ".join(program.reading.loaders)
        self._device = str(task.device)
        self._compiled = compiled
        self._kernels: dict[Hashable, _Kernel] = {}

    def profile(
        self,
        name: str,
        steps: Sequence[MeasuredStep],
        memory: MemoryProfile,
        *,
        unprofiled_seconds: float = 0.0,
        notes: Sequence[str] = (),
    ) -> Profile:
        """The profile of at least one step."""
        intervals = {step.number: list(self._intervals(step)) for step in steps}
        counted = counted_steps(steps)
        parts = self._parts([(step, intervals[step.number]) for step in counted])
        used = [kernel for kernel in self._kernels.values() if kernel.runs]
        used.sort(key=lambda kernel: -kernel.nanoseconds)
        for number, kernel in enumerate(used):
            kernel.number = number
        count = len(counted)
        origin = steps[0].start
        numbers = {step.number for step in counted}
        return Profile(
            name,
            "compiled" if self._compiled else "eager",
            self._device,
            Counter(step.batch_size for step in counted).most_common(1)[0][0],
            tuple(
                StepTime(one.number, one.start - origin, one.end - origin, one.waiting, one.number in numbers)
                for one in steps
            ),
            sum(step.end - step.start for step in counted) / count / 1e9,
            unprofiled_seconds,
            tuple(_part(owner, title, kernel, value / count / 1e9) for (owner, title, kernel), value in parts.items()),
            tuple(_kernel_profile(kernel, count) for kernel in used),
            memory,
            tuple(self._timeline(steps, intervals, origin)),
            tuple(notes),
        )

    # -- intervals of a step

    def _intervals(self, step: MeasuredStep) -> Iterator[_Interval]:
        for one in step.runs:
            for part, start, end in one.run.intervals():
                if isinstance(part, int):
                    yield _Interval(start, end, self._planned(one.plan, part), "", "other")
                elif part == "results":
                    yield _Interval(start, end, None, COPIES, "other")
                elif part == "writes":
                    yield _Interval(start, end, None, WRITES, "optimizer")
        for op in step.ops:
            yield _Interval(op.start, op.end, self._op(op), "", "other")

    def _planned(self, plan: ExecutionPlan, number: int) -> _Kernel:
        key = plan, number
        found = self._kernels.get(key)
        if found is None:
            cost = step_cost(plan.steps[number])
            kind: Literal["kernel", "call", "view"] = (
                "kernel" if cost.kind == "kernel" else "view" if cost.kind == "view" else "call"
            )
            found = self._kernels[key] = _Kernel(
                cost.name, kind, self._shares(cost), len(cost.ops), cost.read, cost.written, cost.flops, cost.dtype
            )
        return found

    def _shares(self, cost: StepCost) -> dict[Owner, float]:
        """The share of each phase and node, by the work of their ops."""
        work: defaultdict[Owner, float] = defaultdict(float)
        for op in cost.ops:
            work[self._owners.owner(op.where, backward=op.backward)] += op.touched + op.flops
        total = sum(work.values())
        return {owner: value / total if total else 1 / len(work) for owner, value in work.items()}

    def _op(self, op: OpEvent) -> _Kernel:
        owner = self._owners.owner([op.where], backward=op.backward)
        key = op.op, owner
        found = self._kernels.get(key)
        if found is None:
            found = self._kernels[key] = _Kernel(op.op, "op", {owner: 1.0}, dtype=op.dtype)
        return found

    # -- sums

    def _parts(
        self, steps: Sequence[tuple[MeasuredStep, list[_Interval]]]
    ) -> dict[tuple[Owner, str, _Kernel | None], float]:
        """Nanoseconds by owner, title and kernel, in the order of the step. Their sum is that of the steps."""
        found: defaultdict[tuple[Owner, str, _Kernel | None], float] = defaultdict(float)
        for step, intervals in steps:
            found[("loader", self._loaders), WAITING, None] += step.waiting
            explained = step.waiting
            for one in intervals:
                duration = one.end - one.start
                explained += duration
                if one.kernel is None:
                    found[(one.phase, ""), one.title, None] += duration
                    continue
                one.kernel.nanoseconds += duration
                one.kernel.runs += 1
                for owner, share in one.kernel.shares.items():
                    found[owner, one.kernel.name, one.kernel] += duration * share
            for op in step.ops:
                kernel = self._op(op)
                kernel.read, kernel.written = kernel.read + op.read, kernel.written + op.written
                kernel.flops += op.flops
            rest = step.end - step.start - explained
            outside = min(step.end - step.start - step.waiting - step.call, rest) if step.call else 0
            found[("other", ""), BETWEEN, None] += rest - outside
            if step.call:
                found[("other", ""), LOOP, None] += outside
        return dict(found)

    def _timeline(
        self, steps: Sequence[MeasuredStep], intervals: Mapping[int, list[_Interval]], origin: int
    ) -> Iterator[TimelineEvent]:
        for step in steps:
            loaders = (self._loaders,) if self._loaders else ()
            if step.waiting:
                start = step.start - origin
                yield TimelineEvent(WAITING, "loader", loaders, None, start, start + step.waiting, step.number)
            for one in sorted(intervals[step.number], key=lambda each: each.start):
                title, phase, nodes, number = one.title, one.phase, (), None
                if one.kernel is not None:
                    title, number = one.kernel.name, one.kernel.number if one.kernel.runs else None
                    phase = one.kernel.main_phase
                    nodes = tuple(dict.fromkeys(node for _, node in one.kernel.shares if node))
                yield TimelineEvent(title, phase, nodes, number, one.start - origin, one.end - origin, step.number)


def counted_steps(steps: Sequence[MeasuredStep]) -> list[MeasuredStep]:
    """The steps with the commonest plans and batch size that are not slower than their median.

    Other load of the machine disturbs slow steps, and a smaller batch at the end of an epoch has other kernels.
    """
    kinds = Counter(_kind(step) for step in steps)
    common = [step for step in steps if _kind(step) == kinds.most_common(1)[0][0]]
    durations = sorted(step.end - step.start for step in common)
    median = durations[(len(durations) - 1) // 2]
    return [step for step in common if step.end - step.start <= median]


def _kind(step: MeasuredStep) -> Hashable:
    return tuple(id(one.plan) for one in step.runs), step.batch_size


def _part(owner: Owner, title: str, kernel: _Kernel | None, seconds: float) -> ProfilePart:
    return ProfilePart(*owner, title, None if kernel is None else kernel.number, seconds)


def _kernel_profile(kernel: _Kernel, steps: int) -> KernelProfile:
    runs = max(kernel.runs // steps, 1)
    # Figures of eager ops are sums over all steps, those of planned kernels are of one run.
    per_step = 1 / steps if kernel.kind == "op" else runs
    return KernelProfile(
        kernel.number,
        kernel.name,
        kernel.kind,
        tuple(dict.fromkeys(phase for phase, _ in kernel.shares)),
        tuple(dict.fromkeys(node for _, node in kernel.shares if node)),
        kernel.nanoseconds / steps / 1e9,
        runs,
        round(kernel.read * per_step),
        round(kernel.written * per_step),
        round(kernel.flops * per_step),
        kernel.dtype,
        kernel.ops,
    )


__all__ = ["BETWEEN", "COPIES", "LOOP", "WAITING", "WRITES", "ProfileAssembly", "counted_steps"]
