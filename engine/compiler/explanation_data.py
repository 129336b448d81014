"""Segments, kernels, graph breaks and other parts of an explanation, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the program."""

    file: str
    number: int
    code: str
    """Its text; empty where it cannot be had."""
    node: str | None = None
    """What it belongs to on a canvas."""


@dataclass(frozen=True, slots=True)
class OperationInfo:
    """One recorded call of an op."""

    op: str
    inputs: tuple[str, ...]
    """"%3" for what the recording holds in slot 3, "a number" for one that may be another each time, or its value."""
    slots: tuple[int, ...]
    """Where the results are, or what is written to."""
    outputs: tuple[str, ...]
    """Shapes and dtypes of the results, or of what is written to."""
    line: SourceLine | None
    backward: bool
    """Part of a backward pass; the line is the one whose gradient it is about."""
    writes: bool
    """It changes its first input in place."""


@dataclass(frozen=True, slots=True)
class GuardInfo:
    """What must be as it was for a recording to be found again: an array that it takes from outside."""

    slot: int
    array: str
    """Shape and dtype."""
    strides: tuple[int, ...]
    """In elements."""
    device: str
    op: str
    """The op that it is met by first."""
    line: SourceLine | None
    written: bool
    """The recording writes to it."""


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """What is done at once: one generated kernel, or one call of NumPy or BLAS."""

    ops: tuple[str, ...]
    """The recorded ops in it."""
    kind: str
    """"kernel" for generated code, "call" for an op's own kernel, "view" for what only looks at memory otherwise."""
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    lines: tuple[SourceLine, ...]
    source: str
    """Generated code; empty where there is none."""
    note: str
    """Why it is no part of a kernel although ops of its kind can be, or that its kernel is still being compiled."""


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """Ops that are recorded and run together: an island between two breaks."""

    number: int
    operations: tuple[OperationInfo, ...]
    guards: tuple[GuardInfo, ...]
    numbers: int
    """Python numbers that may be others in each call, and random states."""
    how: str
    """"fused", "unfused" or "call by call"; "recorded" if it was not run by a plan."""
    note: str
    """Why it is not run in a better way."""
    kernels: tuple[KernelInfo, ...]
    plans: int
    """Ways to run it: one for each choice of results that somebody held at its end."""
    memory: int
    """Bytes for values inside, at most at one time."""
    held: int
    """Bytes for values inside if ops ran one by one, at most at one time."""
    seconds: float
    """To run it."""
    ended_by: str | None
    """The reason of the break after it; None at the end of the function."""


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """A place where recording had to stop."""

    reason: str
    """A stable id: docs/reference/graph-breaks.md has a section for each."""
    what: str
    line: SourceLine | None
    op: str | None
    """Whose numbers were needed, or what could not be recorded."""
    count: int
    """In one call."""
    before: int
    """Ops in the segment that it ended."""
    after: int
    """Ops in the segment that follows."""
    seconds: float
    """That one call spent there: what was recorded had to be computed at this point."""
    rewrite: str

    @property
    def help(self) -> str:
        return f"docs/reference/graph-breaks.md#{self.reason}"


@dataclass(frozen=True, slots=True)
class RecompileInfo:
    """A call that did something no earlier one did, so that a new recording was made."""

    call: int
    line: SourceLine | None
    after: int
    """Ops that were as in the nearest earlier recording."""
    expected: str
    """The op that came at this point in the nearest earlier recording."""
    expected_line: SourceLine | None
    got: str
    differences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplayInfo:
    """Calls that ran without Python, as training steps of the studio do."""

    count: int
    missed: tuple[str, ...]
    """What was not as it had been, each time that Python had to run again."""
    refused: tuple[str, ...]
    """Why Python runs on every call."""


@dataclass(frozen=True, slots=True)
class ExplanationData:
    """What a function was compiled to."""

    name: str
    segments: tuple[SegmentInfo, ...]
    breaks: tuple[GraphBreak, ...]
    recompiles: tuple[RecompileInfo, ...]
    replays: ReplayInfo
    calls: int
    """Calls so far, those for this explanation included."""
    recorded: int
    """Ops in all recordings together."""
    eager_seconds: float
    """Of a call that is not compiled; 0 if it was not measured."""
    compiled_seconds: float
    first_seconds: float
    """Of the first call, which recorded; 0 if it was not seen."""
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def memory(self) -> int:
        """Bytes for values inside segments, at most at one time."""
        return max((segment.memory for segment in self.segments), default=0)
