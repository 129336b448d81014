"""Segments, kernels, graph breaks and other parts of an explanation, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A source line."""

    file: str
    number: int
    code: str
    """Its text; empty if not available."""
    node: str | None = None
    """The canvas node that it belongs to, if any."""


@dataclass(frozen=True, slots=True)
class OperationInfo:
    """One traced op."""

    op: str
    inputs: tuple[str, ...]
    """"%3" for the array in slot 3, "a number" for a number that varies between calls, or a constant."""
    slots: tuple[int, ...]
    """Slots of the results, or the slot that is written."""
    outputs: tuple[str, ...]
    """Shapes and dtypes of the results, or of the written array."""
    line: SourceLine | None
    backward: bool
    """Whether it belongs to a backward pass; the line is then that of the forward op."""
    writes: bool
    """Whether it changes its first input in place."""


@dataclass(frozen=True, slots=True)
class GuardInfo:
    """An input array: later calls reuse the segment only if its shape, dtype, strides and device are equal."""

    slot: int
    array: str
    """Shape and dtype."""
    strides: tuple[int, ...]
    """Strides in elements."""
    device: str
    op: str
    """The first op that uses it."""
    line: SourceLine | None
    written: bool
    """Whether the segment writes to it."""


COMPILING = "compiling; until then NumPy computes the same values"
"""Note of a kernel that compiles in the background."""


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """One step of a plan: a generated kernel, or a call of NumPy, BLAS or a hand-written kernel."""

    ops: tuple[str, ...]
    """Names of its ops."""
    kind: str
    """"kernel" for generated code, "call" for other computations, "view" for views."""
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    lines: tuple[SourceLine, ...]
    source: str
    """Generated code; empty for other steps."""
    note: str
    """Why it is not in a generated kernel, or the state of its kernel."""

    @property
    def is_compiling(self) -> bool:
        """Whether its kernel was still compiling when this was read."""
        return self.note == COMPILING


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """Ops that run together, between two graph breaks."""

    number: int
    operations: tuple[OperationInfo, ...]
    guards: tuple[GuardInfo, ...]
    numbers: int
    """Number of Python numbers and random states that vary between calls."""
    how: str
    """"fused", "unfused" or "call by call"; "recorded" if it was traced but not run by a plan."""
    note: str
    """Why it is not fused; empty if it is."""
    kernels: tuple[KernelInfo, ...]
    plans: int
    """Number of plans: one for each set of results that are used after the segment."""
    memory: int
    """Peak bytes of intermediate values."""
    held: int
    """Peak bytes of intermediate values if ops ran one by one."""
    seconds: float
    """Time to run it."""
    ended_by: str | None
    """Reason of the graph break after it; None at the end of the function."""


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """A graph break: a line that needs values or cannot be traced."""

    reason: str
    """Stable id; docs/reference/graph-breaks.md has a section for each."""
    what: str
    line: SourceLine | None
    op: str | None
    """The op whose values were needed, or that could not be traced."""
    count: int
    """Number of breaks per call."""
    before: int
    """Ops in the segment before it."""
    after: int
    """Ops in the segment after it."""
    seconds: float
    """Seconds per call to compute the values."""
    rewrite: str

    @property
    def help(self) -> str:
        return f"docs/reference/graph-breaks.md#{self.reason}"


@dataclass(frozen=True, slots=True)
class RecompileInfo:
    """A call that took a new path, so that it was traced."""

    call: int
    line: SourceLine | None
    after: int
    """Ops that were equal to the nearest earlier trace."""
    expected: str
    """The op at this point in the nearest earlier trace."""
    expected_line: SourceLine | None
    got: str
    differences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplayInfo:
    """Calls that ran without Python, such as fully compiled training steps of the studio."""

    count: int
    missed: tuple[str, ...]
    """What had changed, each time that Python ran again."""
    refused: tuple[str, ...]
    """Why Python runs on every call."""


@dataclass(frozen=True, slots=True)
class ExplanationData:
    """The parts of an explanation."""

    name: str
    segments: tuple[SegmentInfo, ...]
    breaks: tuple[GraphBreak, ...]
    recompiles: tuple[RecompileInfo, ...]
    replays: ReplayInfo
    calls: int
    """Number of calls so far, including those for this explanation."""
    recorded: int
    """Ops in all traces."""
    eager_seconds: float
    """Time of an eager call; 0 if it was not measured."""
    compiled_seconds: float
    first_seconds: float
    """Time of the first call, with tracing; 0 if it was not measured."""
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def memory(self) -> int:
        """Peak bytes of intermediate values in a segment."""
        return max((segment.memory for segment in self.segments), default=0)
