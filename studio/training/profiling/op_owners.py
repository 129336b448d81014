"""The node and the phase of an op, from the lines that called it."""

from __future__ import annotations

from collections.abc import Iterable

from engine import fit
from engine.graph import SourceLocation
from engine.observe import CallSite
from studio.lowering.program import Program
from studio.training.profiling.profile_data import Phase


class OpOwners:
    """Finds the nodes of ops, also in the second instance of a block, whose lines are those of the first."""

    def __init__(self, program: Program, task: fit.Task) -> None:
        self._program = program
        self._optimizers = ", ".join(task.optimizers)

    def owner(self, locations: Iterable[SourceLocation], *, backward: bool) -> tuple[Phase, str]:
        """The phase of an op and the path of its node; an empty path if it belongs to none."""
        found = [location for location in locations if location is not None and self._is_in_program(location)]
        path = next((path for location in found if (path := self._path(location))), "")
        if backward:
            return "backward", path
        return ("forward", path) if found else ("optimizer", self._optimizers)

    def _is_in_program(self, location: tuple[str, int]) -> bool:
        return any(file == self._program.filename for file, _ in _lines(location))

    def _path(self, location: tuple[str, int]) -> str:
        """The path of the node in the instance that the calling lines lead to."""
        parts: list[str] = []
        for file, number in _lines(location):
            label = self._program.node_at(file, number)
            if label is not None:
                *outer, name = label.split(".")
                parts = [*parts[: len(outer)], name] if len(parts) >= len(outer) else [*outer, name]
        return ".".join(parts)


def _lines(location: tuple[str, int]) -> tuple[tuple[str, int], ...]:
    """A location and the lines that called it, the outermost first."""
    callers = location.callers if isinstance(location, CallSite) else ()
    return (*callers, location)


__all__ = ["OpOwners"]
