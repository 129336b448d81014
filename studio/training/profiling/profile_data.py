"""A profile of training steps, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Phase: TypeAlias = Literal["loader", "forward", "backward", "optimizer", "other"]
PHASES: tuple[Phase, ...] = ("loader", "forward", "backward", "optimizer", "other")
PHASE_TITLES: Mapping[Phase, str] = {
    "loader": "Loader",
    "forward": "Forward",
    "backward": "Backward",
    "optimizer": "Optimizer",
    "other": "Other",
}

MemoryKind: TypeAlias = Literal["parameters", "gradients", "optimizer state", "saved for backward", "temporary"]
MEMORY_KINDS: tuple[MemoryKind, ...] = (
    "parameters",
    "gradients",
    "optimizer state",
    "saved for backward",
    "temporary",
)

Bound: TypeAlias = Literal["memory", "compute", "overhead", "unknown"]


@dataclass(frozen=True, slots=True)
class ProfileStage:
    """What a profile is doing, with the number of finished parts."""

    what: Literal["preparing", "warming up", "compiling", "measuring"]
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """A kernel, a call of NumPy or BLAS, or an op of eager mode. Figures are those of one training step."""

    number: int
    """Index in the profile."""
    name: str
    """Its ops, joined by "+"."""
    kind: Literal["kernel", "call", "op", "view"]
    """A generated kernel, another computation of a compiled step, an op of eager mode, or a view."""
    phases: tuple[Phase, ...]
    nodes: tuple[str, ...]
    """Paths of the nodes that it computes completely or in part."""
    seconds: float
    count: int
    """Runs in a step."""
    read: int
    """Bytes."""
    written: int
    flops: int
    dtype: str
    ops: int = 1
    """Number of ops in it."""

    @property
    def bytes(self) -> int:
        return self.read + self.written

    @property
    def intensity(self) -> float:
        """Floating-point operations for each byte."""
        return self.flops / self.bytes if self.bytes else 0.0

    @property
    def flops_per_second(self) -> float:
        return self.flops / self.seconds if self.seconds else 0.0

    @property
    def bytes_per_second(self) -> float:
        return self.bytes / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class ProfilePart:
    """A part of the time of a step. The parts of a profile add up to the step."""

    phase: Phase
    node: str
    """Path of the node; empty for time that belongs to no node."""
    title: str
    """Name of the kernel, or what else took the time."""
    kernel: int | None
    """Number of the kernel, if one took the time."""
    seconds: float


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """An interval of a measured step, for traces. Times are in nanoseconds from the start of the first step."""

    title: str
    phase: Phase
    nodes: tuple[str, ...]
    kernel: int | None
    start: int
    end: int
    step: int
    """Number of the training step."""


@dataclass(frozen=True, slots=True)
class StepTime:
    """A measured step. Times are in nanoseconds from the start of the first step."""

    number: int
    start: int
    end: int
    waiting: int
    """Time that it waited for its batch."""
    is_counted: bool
    """Whether it counts in the figures: steps slower than the median do not."""


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """Bytes of a node by kind."""

    node: str
    """Path; empty for what belongs to no node."""
    kinds: Mapping[MemoryKind, int]

    @property
    def total(self) -> int:
        return sum(self.kinds.values())


@dataclass(frozen=True, slots=True)
class MemoryProfile:
    """Memory of a training step."""

    nodes: tuple[NodeMemory, ...] = ()
    peak: int = 0
    """Largest number of bytes at one time: parameters, gradients, optimizer state and intermediate values."""
    intermediate: int = 0
    """Largest number of bytes of intermediate values at one time."""
    is_planned: bool = False
    """Whether the memory of intermediate values is that of compiled plans, which reuse it."""

    def total(self, kind: MemoryKind) -> int:
        return sum(node.kinds.get(kind, 0) for node in self.nodes)


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time and memory of training steps go. Times are means of the counted steps, in seconds."""

    name: str
    mode: Literal["compiled", "eager"]
    device: str
    batch_size: int
    steps: tuple[StepTime, ...]
    seconds: float
    """Duration of a step."""
    unprofiled_seconds: float
    """Duration of a step before the profiler started; 0 if unknown."""
    parts: tuple[ProfilePart, ...]
    kernels: tuple[KernelProfile, ...]
    memory: MemoryProfile
    timeline: tuple[TimelineEvent, ...] = field(repr=False, default=())
    notes: tuple[str, ...] = ()
    """What limits the meaning of the figures, such as kernels that were still compiling."""

    def phase_seconds(self, phase: Phase) -> float:
        return sum(part.seconds for part in self.parts if part.phase == phase)

    @property
    def unexplained(self) -> float:
        """Seconds of a step in which neither a kernel ran nor the step waited for data."""
        return self.phase_seconds("other")

    def node_seconds(self) -> dict[str, dict[Phase, float]]:
        """Seconds by node and phase, in the order of the first part."""
        found: dict[str, dict[Phase, float]] = {}
        for part in self.parts:
            if part.node:
                phases = found.setdefault(part.node, {})
                phases[part.phase] = phases.get(part.phase, 0.0) + part.seconds
        return found


__all__ = [
    "MEMORY_KINDS",
    "PHASES",
    "PHASE_TITLES",
    "Bound",
    "KernelProfile",
    "MemoryKind",
    "MemoryProfile",
    "NodeMemory",
    "Phase",
    "Profile",
    "ProfilePart",
    "ProfileStage",
    "StepTime",
    "TimelineEvent",
]
