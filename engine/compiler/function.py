"""`engine.compile`: a function whose ops are recorded, looked up among known recordings, and run together."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from engine.compiler.capture import Capture
from engine.compiler.graph import Unplanned, build, check
from engine.compiler.instruction import Trie
from engine.compiler.interpret import Interpreter
from engine.compiler.report import Report
from engine.compiler.sequential import Sequential
from engine.modes import MODES


class Plan(Protocol):
    """A way to run a recording."""

    def run(self, externals: dict[int, Any], scalars: list[Any]) -> list[Any]:
        """The arrays in the wanted slots, from what was found outside (by slot) and the numbers of this call.

        Writes reach the external arrays themselves.
        """
        ...


class Compiled:
    """A compiled function. Python runs on every call; the ops that it calls are run together where that is possible."""

    def __init__(self, function: Callable[..., Any], *, fullgraph: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.fullgraph = fullgraph
        self.root = Trie(None, None, ())
        self.report = Report()
        self.recorded = 0
        """Calls in all recordings together."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if MODES.capture is not None:  # part of what is being compiled
            return self.function(*args, **kwargs)
        capture = MODES.capture = Capture(self)
        self.report.calls += 1
        try:
            return self.function(*args, **kwargs)
        finally:
            try:
                capture.finish()
            finally:
                MODES.capture = None

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def plan(self, node: Trie, wanted: tuple[int, ...]) -> Plan:
        """How to compute the slots `wanted` of the recording that ends at `node`."""
        found = node.plans.get(wanted)
        if found is None:
            found = node.plans[wanted] = self._planned(node, wanted)
        return found

    def _planned(self, node: Trie, wanted: tuple[int, ...]) -> Plan:
        try:
            graph = build(node, wanted)
        except Unplanned:
            return Sequential(node, wanted)
        check(graph)
        return Interpreter(graph)

    def reset(self) -> None:
        """Forgets all recordings."""
        self.root, self.report, self.recorded = Trie(None, None, ()), Report(), 0


def compile(model: Callable[..., Any] | None = None, *, fullgraph: bool = False) -> Any:
    """`model`, a function or module, with its ops recorded and run together.

    Args:
        fullgraph: raise at the first graph break, with its explanation
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph)
    return Compiled(model, fullgraph=fullgraph)


__all__ = ["Compiled", "compile"]
