"""Counts of calls, graph breaks and recompiles of a compiled function."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from engine.compiler.break_reasons import BreakReason
from engine.compiler.instruction import TraceNode
from engine.graph import SourceLocation

MAX_RECOMPILES = 100
"""Recompiles that are kept in detail."""
MAX_ENDS = 16
"""Traces with which a new one is compared, per start."""

SegmentStart: TypeAlias = tuple[int, SourceLocation] | None
"""Where a segment starts: id of the previous trace's end, and line of the break. None at the function's start."""


@dataclass(slots=True)
class BreakCount:
    """Graph breaks of one reason at one line."""

    reason: BreakReason
    where: SourceLocation
    op: str | None = None
    """The op whose values were needed, or that could not be traced."""
    count: int = 0
    seconds: float = 0.0
    """Time to compute the values."""
    calls_before: int = 0
    """Ops in the segment before the latest of these breaks."""


@dataclass(frozen=True, slots=True)
class Recompile:
    """A call that left the known traces and created a new one."""

    call: int
    """Number of the call, from 1."""
    node: TraceNode
    """The first new node; the last node if the call ended earlier than known traces."""
    expected: TraceNode | None
    """The op at this point in the nearest earlier trace; None if that ended here."""
    ended: bool
    """Whether the call ended where the earlier trace continues."""
    depth: int
    """Number of equal ops before."""


@dataclass(frozen=True, slots=True)
class SegmentRun:
    """One segment of one call."""

    node: TraceNode
    """The last node of its trace."""
    is_known: bool
    """Whether a plan ran it; otherwise its ops ran one by one while they were traced."""
    plan: Any
    seconds: float
    """Duration of the plan."""
    reason: BreakReason | None
    """Reason of the break that ended it; None at the end of the function."""
    where: SourceLocation
    op: str | None
    cost: float
    """Seconds that the break took."""
    origins: tuple[tuple[SourceLocation, bool], ...]
    """For each op its line, and whether it belongs to a backward pass; empty unless requested."""


@dataclass(slots=True)
class CompileReport:
    """Counts since the function was compiled or reset."""

    calls: int = 0
    breaks: dict[tuple[str, SourceLocation], BreakCount] = field(default_factory=dict)
    recompiles: list[Recompile] = field(default_factory=list)
    recompiled: int = 0
    """Number of all recompiles, including those not kept in detail."""
    _ends: dict[SegmentStart, list[tuple[int, TraceNode]]] = field(default_factory=dict, repr=False)
    """Start → ends of its traces, each with the number of the first call that reached it."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def begin(self) -> int:
        """Counts a call. Returns its number."""
        with self._lock:
            self.calls += 1
            return self.calls

    def note_break(
        self, reason: BreakReason, where: SourceLocation, node: TraceNode, requested: int | str | None, seconds: float
    ) -> str | None:
        """Counts a break. `requested` is a slot, or the name of an op. Returns the name of the op."""
        with self._lock:
            found = self.breaks.get((reason.id, where))
            if found is None:
                found = self.breaks[reason.id, where] = BreakCount(reason, where, _op_name(node, requested))
            found.count += 1
            found.seconds += seconds
            found.calls_before = node.depth
            return found.op

    def note_new(self, call: int, start: SegmentStart, node: TraceNode) -> None:
        """Notes that a call continued with `node` as the first one."""
        self._note(call, start, node, node.path(), ended=False)

    def note_end(self, call: int, start: SegmentStart, node: TraceNode, *, is_known: bool) -> None:
        """Notes that a trace ended at `node` for the first time."""
        with self._lock:
            ends = self._ends.get(start, [])
            if any(end is node for _, end in ends):
                return
        if is_known and node.parent is not None:
            self._note(call, start, node, node.path(), ended=True)
        with self._lock:
            self._ends[start] = [*ends[1 - MAX_ENDS :], (call, node)]

    def _note(self, call: int, start: SegmentStart, node: TraceNode, path: list[TraceNode], *, ended: bool) -> None:
        with self._lock:
            # Ops that this call repeats, as in a loop, are not a difference.
            ends = [end for number, end in self._ends.get(start, ()) if number < call]
            if not ends:
                return
            expected, depth = _nearest(path, [end.path() for end in ends])
            if ended and expected is None:
                return
            self.recompiled += 1
            if len(self.recompiles) < MAX_RECOMPILES:
                at = path[depth] if depth < len(path) else node
                self.recompiles.append(Recompile(call, at, expected, ended and depth == len(path), depth))


def _nearest(path: list[TraceNode], others: list[list[TraceNode]]) -> tuple[TraceNode | None, int]:
    """Finds the path in `others` that shares most first nodes with `path`. Returns its next node, and their number."""
    best: list[TraceNode] = []
    most = -1
    for other in others:
        shared = next((i for i, (a, b) in enumerate(zip(path, other, strict=False)) if a is not b), None)
        length = min(len(path), len(other)) if shared is None else shared
        if length > most or (length == most and _is_nearer(path, other, best, length)):
            best, most = other, length
    return (best[most] if most < len(best) else None), most


def _is_nearer(path: list[TraceNode], other: list[TraceNode], best: list[TraceNode], index: int) -> bool:
    """Whether the first different op of `other` is more similar to that of `path` than that of `best`."""
    if index >= len(path) or index >= len(other):
        return index < len(other) and index >= len(best)
    return index >= len(best) or _similarity(path[index], other[index]) >= _similarity(path[index], best[index])


def _similarity(one: TraceNode, other: TraceNode) -> int:
    """The similarity of two traced ops."""
    mine, theirs = key_of(one), key_of(other)
    if mine[0] is not theirs[0]:
        return 0
    return 1 + sum(a == b for a, b in zip(mine, theirs, strict=False))


def key_of(node: TraceNode) -> Any:
    """The key of a node: op, whether it writes in place, static arguments, and its inputs."""
    siblings = {} if node.parent is None else node.parent.children
    return next(key for key, child in list(siblings.items()) if child is node)


def _op_name(node: TraceNode, requested: int | str | None) -> str | None:
    if not isinstance(requested, int):
        return requested
    found: TraceNode = node
    while found.instruction is not None and found.parent is not None:
        if requested in found.instruction.outputs:
            return found.instruction.op.name
        found = found.parent
    return None


__all__ = ["BreakCount", "CompileReport", "Recompile", "SegmentRun", "SegmentStart", "key_of"]
