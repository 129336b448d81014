"""Which node a call belongs to, from the stack of a generated program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from engine import fit, nn
from studio.lowering.program import Program


@dataclass(frozen=True, slots=True)
class Location:
    """A call in a generated program."""

    path: str | None
    """The node, with the instances that it is in."""
    code_line: int | None = None
    """Line of the program in the source of a Python node."""


class ProgramLocations:
    """Finds the node of a call.

    Args:
        program: the generated program
        task: built from it
    """

    def __init__(self, program: Program, task: fit.Task) -> None:
        self._program = program
        self._copies = _copies(task)

    def __call__(self, frame: FrameType | None) -> Location | None:
        """The node that the innermost frames of the program belong to; None if there is no such frame."""
        stack: list[tuple[int, Any]] = []
        while frame is not None:
            if frame.f_code.co_filename == self._program.filename:
                stack.append((frame.f_lineno, frame.f_locals.get("self")))
            frame = frame.f_back
        return self._located(stack[::-1]) if stack else None

    def _located(self, stack: list[tuple[int, Any]]) -> Location:
        prefix, name, code_line = "", "", None
        owner: Any = None
        for line, module in stack:
            if self._program.code_at(line) is not None:
                code_line = line
                continue
            if module is not owner and isinstance(owner, nn.Module):
                copy = self._copies.get(id(module), "")
                prefix = ".".join(part for part in (prefix, name, copy) if part)
            owner = module
            name = self._program.lines.get(line, "").rpartition(".")[2]
        path = ".".join(part for part in (prefix, name) if part)
        return Location(path or None, code_line)


def _copies(task: fit.Task) -> Mapping[int, str]:
    """Id of each module in a list → its index."""
    return {
        id(module): name.rpartition(".")[2]
        for root in task.modules.values()
        for name, module in root.named_modules()
        if name.rpartition(".")[2].isdecimal()
    }


__all__ = ["Location", "ProgramLocations"]
