"""Limits on the time and ops of checking one node, so that every check ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from engine.graph import SourceLocation
from engine.observe import Observer
from engine.ops.record import Op

SECONDS = 10.0
"""Limit for constructing and calling a node. The largest allowed layer takes half of it."""
TOTAL_SECONDS = 60.0
"""Limit for all nodes of a project, without reading data."""
MOST_OPS = 100_000

_EVENTS = 256
"""Function calls between two time checks."""


class OverBudgetError(Exception):
    """Checking a node exceeds its limit."""


class Budget(Observer):
    """Records op calls like `inspect.trace`, and raises OverBudgetError when a limit is exceeded."""

    def __init__(self, *, seconds: float = SECONDS, ops: int = MOST_OPS) -> None:
        super().__init__()
        self._most = ops
        self._seconds = seconds
        self._ends = time.monotonic() + seconds

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], outs: Sequence[Any]) -> SourceLocation:
        if len(self.calls) >= self._most:
            raise OverBudgetError(f"it takes more than {self._most:,} ops")
        self._look()
        return super().call(op, inputs, statics, outs)

    @contextmanager
    def making(self) -> Generator[None]:
        """Apply the time limit to construction, which may call no op: any function call may raise OverBudgetError.

        Has no effect under a profiler, as there can be only one.
        """
        if sys.getprofile() is not None:
            yield
            return
        events = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal events
            events += 1
            if events % _EVENTS == 0:
                self._look()

        sys.setprofile(count)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _look(self) -> None:
        if time.monotonic() > self._ends:
            raise OverBudgetError(f"checking it takes longer than {self._seconds:g} seconds")
