"""What happened in the calls of a compiled function."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from engine.compiler.instruction import Trie
from engine.compiler.reasons import Reason
from engine.graph import Place


@dataclass(slots=True)
class Break:
    """Graph breaks of one kind at one line."""

    reason: Reason
    where: Place
    count: int = 0
    seconds: float = 0.0
    """Spent on computing what was needed."""
    calls_before: int = 0
    """Recorded ops that the last of them ended."""


@dataclass(slots=True)
class Report:
    """Counts since the function was compiled or reset."""

    calls: int = 0
    breaks: dict[tuple[str, Place], Break] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def note(self, reason: Reason, where: Place, node: Trie, seconds: float) -> None:
        with self._lock:
            found = self.breaks.setdefault((reason.id, where), Break(reason, where))
            found.count += 1
            found.seconds += seconds
            found.calls_before = node.depth


__all__ = ["Break", "Report"]
