"""What the check of one node may cost, so that no file makes a check go on for ever."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from engine.graph import Place
from engine.observe import Observer
from engine.ops.record import Op

SECONDS = 10.0
"""For what makes a node, and for what it does with its inputs. The largest layer that types allow takes half."""
TOTAL_SECONDS = 60.0
"""For all nodes of a project together, except for reading data."""
MOST_OPS = 100_000

_EVENTS = 256
"""Calls of functions between two looks at the clock."""


class OverBudgetError(Exception):
    """A node takes longer than a check may."""


class Budget(Observer):
    """Collects the calls of ops like `inspect.trace`. Raises OverBudgetError from inside of one that is too much."""

    def __init__(self, *, seconds: float = SECONDS, ops: int = MOST_OPS) -> None:
        super().__init__()
        self._most = ops
        self._seconds = seconds
        self._ends = time.monotonic() + seconds

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], outs: Sequence[Any]) -> Place:
        if len(self.calls) >= self._most:
            raise OverBudgetError(f"it takes more than {self._most:,} ops")
        self._look()
        return super().call(op, inputs, statics, outs)

    @contextmanager
    def making(self) -> Generator[None]:
        """Any call of a function in this thread may raise OverBudgetError: what is made here need not call an op.

        Under a profiler nothing is counted, as there can be only one.
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
