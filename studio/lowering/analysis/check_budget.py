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
MAX_OPS = 100_000

_CALLS_PER_CHECK = 256
"""Function calls between two time checks."""


class OverBudgetError(Exception):
    """Checking a node exceeds its limit."""


class Budget(Observer):
    """Records op calls like `inspect.trace`, and raises OverBudgetError when a limit is exceeded."""

    def __init__(self, *, seconds: float = SECONDS, ops: int = MAX_OPS) -> None:
        super().__init__()
        self._max_ops = ops
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], outs: Sequence[Any]) -> SourceLocation:
        if len(self.calls) >= self._max_ops:
            raise OverBudgetError(f"it takes more than {self._max_ops:,} ops")
        self._check_time()
        return super().call(op, inputs, statics, outs)

    @contextmanager
    def limit_construction(self) -> Generator[None]:
        """Apply the time limit to every function call, because a constructor may run long without calling an op.

        Has no effect under a profiler, because Python allows only one.
        """
        if sys.getprofile() is not None:
            yield
            return
        events = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal events
            events += 1
            if events % _CALLS_PER_CHECK == 0:
                self._check_time()

        sys.setprofile(count)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise OverBudgetError(f"checking it takes longer than {self._seconds:g} seconds")
