"""What happened in the calls of a compiled function."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from engine.compiler.break_reasons import BreakReason
from engine.compiler.instruction import TraceNode
from engine.graph import Place

MAX_RECOMPILES = 100
"""Kept by name; of those after them only the count."""
MAX_ENDS = 16
"""Recordings that one place is compared with."""

SegmentStart: TypeAlias = tuple[int, Place] | None
"""Where a recording begins: the id of the one before it, and the line of the break. None for a function's beginning."""


@dataclass(slots=True)
class BreakCount:
    """Graph breaks of one kind at one line."""

    reason: BreakReason
    where: Place
    op: str | None = None
    """The op whose numbers were needed, or that could not be recorded."""
    count: int = 0
    seconds: float = 0.0
    """Spent on computing what was needed."""
    calls_before: int = 0
    """Recorded ops that the last of them ended."""


@dataclass(frozen=True, slots=True)
class Recompile:
    """A call that left the known recordings, and so made a new one."""

    call: int
    """Number of the call of the function, from 1."""
    node: TraceNode
    """The first new place; or, if the call ended before any known recording does, the last one."""
    expected: TraceNode | None
    """What came at this point in the nearest earlier recording; None if that ended here."""
    ended: bool
    """The call ended where the earlier recording goes on."""
    depth: int
    """Ops that were as before."""


@dataclass(frozen=True, slots=True)
class SegmentRun:
    """A segment of one call, for whoever has it traced."""

    node: TraceNode
    """Where its recording ended."""
    known: bool
    """It was run by its plan; otherwise its ops ran one by one while they were recorded."""
    plan: Any
    seconds: float
    """Of the plan."""
    reason: BreakReason | None
    """Of the break that ended it; None at the end of the function."""
    where: Place
    op: str | None
    cost: float
    """Seconds that the break took."""
    origins: tuple[tuple[Place, bool], ...]
    """For each op the line that called it, and whether it belongs to a backward pass; empty if nobody asked."""


@dataclass(slots=True)
class CompileReport:
    """Counts since the function was compiled or reset."""

    calls: int = 0
    breaks: dict[tuple[str, Place], BreakCount] = field(default_factory=dict)
    recompiles: list[Recompile] = field(default_factory=list)
    recompiled: int = 0
    """All recompiles, those that are not kept included."""
    _ends: dict[SegmentStart, list[tuple[int, TraceNode]]] = field(default_factory=dict, repr=False)
    """Where recordings end that begin there, each with the first call that did it."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def begin(self) -> int:
        """Counts a call. Returns its number."""
        with self._lock:
            self.calls += 1
            return self.calls

    def note_break(
        self, reason: BreakReason, where: Place, node: TraceNode, asked: int | str | None, seconds: float
    ) -> str | None:
        """Counts a break. `asked` is the slot that was asked for, or the name of an op. Returns that name."""
        with self._lock:
            found = self.breaks.get((reason.id, where))
            if found is None:
                found = self.breaks[reason.id, where] = BreakCount(reason, where, _op_name(node, asked))
            found.count += 1
            found.seconds += seconds
            found.calls_before = node.depth
            return found.op

    def note_new(self, call: int, start: SegmentStart, node: TraceNode) -> None:
        """A call goes on by `node`, which no call did before."""
        self._note(call, start, node, node.path(), ended=False)

    def note_end(self, call: int, start: SegmentStart, node: TraceNode, *, known: bool) -> None:
        """A recording ended at `node`, where none did before."""
        with self._lock:
            ends = self._ends.get(start, [])
            if any(end is node for _, end in ends):
                return
        if known and node.parent is not None:
            self._note(call, start, node, node.path(), ended=True)
        with self._lock:
            self._ends[start] = [*ends[1 - MAX_ENDS :], (call, node)]

    def _note(self, call: int, start: SegmentStart, node: TraceNode, path: list[TraceNode], *, ended: bool) -> None:
        with self._lock:
            # What this call has done itself before, as in a loop, is nothing that it does otherwise.
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
    """What follows in the one of `others` that goes along with `path` the longest, and how far that is."""
    best: list[TraceNode] = []
    most = -1
    for other in others:
        shared = next((i for i, (a, b) in enumerate(zip(path, other, strict=False)) if a is not b), None)
        length = min(len(path), len(other)) if shared is None else shared
        if length > most or (length == most and _is_nearer(path, other, best, length)):
            best, most = other, length
    return (best[most] if most < len(best) else None), most


def _is_nearer(path: list[TraceNode], other: list[TraceNode], best: list[TraceNode], index: int) -> bool:
    """Whether the first different call of `other` is more like that of `path`; the latest one, if both are alike."""
    if index >= len(path) or index >= len(other):
        return index < len(other) and index >= len(best)
    return index >= len(best) or _alike(path[index], other[index]) >= _alike(path[index], best[index])


def _alike(one: TraceNode, other: TraceNode) -> int:
    """How much two recorded calls have in common."""
    mine, theirs = key_of(one), key_of(other)
    if mine[0] is not theirs[0]:
        return 0
    return 1 + sum(a == b for a, b in zip(mine, theirs, strict=False))


def key_of(node: TraceNode) -> Any:
    """By what a place is found: op, whether it writes in place, static arguments, and what each input is."""
    siblings = {} if node.parent is None else node.parent.children
    return next(key for key, child in list(siblings.items()) if child is node)


def _op_name(node: TraceNode, asked: int | str | None) -> str | None:
    if not isinstance(asked, int):
        return asked
    found: TraceNode = node
    while found.instruction is not None and found.parent is not None:
        if asked in found.instruction.outputs:
            return found.instruction.op.name
        found = found.parent
    return None


__all__ = ["BreakCount", "CompileReport", "Recompile", "SegmentRun", "SegmentStart", "key_of"]
