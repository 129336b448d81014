"""Undoes the changes of a compiled call that does not finish."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from engine.compiler.atomic_changes import Change, apply_changes, write_change
from engine.compiler.sequential_executor import written_slots
from engine.modes import MODES


class WrittenSegment(Protocol):
    """The part of a traced segment whose writes are undone."""

    node: Any
    externals: Any


class UndoLog:
    """The changes of one call in this thread since its start or its last graph break.

    Before a lasting change, the way to undo it is added to `changes` or by `save`. The last change of a call is applied
    together with `clear_changes`: before it an exception can undo everything, after it nothing.
    """

    __slots__ = ("_grad", "_memory", "changes", "outer_undo")

    def __init__(self) -> None:
        self.changes: list[Change] = []
        """Changes that restore the former state, applied in reverse order."""
        self._memory: dict[int, tuple[Any, Any]] = {}
        """Id of an array → the array, kept so that the id stays valid, and a copy."""
        self._grad, self.outer_undo = MODES.grad, MODES.undo

    def save(self, array: Any) -> None:
        """Saves an array before it is written."""
        if id(array) not in self._memory:
            self._memory[id(array)] = array, array.copy()

    def save_written(self, segment: WrittenSegment) -> None:
        """Saves the arrays that the trace so far writes."""
        for slot in written_slots([entry.call for entry in segment.node.path()]):
            array = segment.externals.get(slot)
            if array is not None:
                self.save(array)

    def restore_memory(self) -> None:
        """Restores saved arrays, so that a plan can repeat the computation."""
        apply_changes(self._memory_changes())

    def clear_changes(self) -> list[Change]:
        """Changes that empty the log."""
        return [(self.changes.clear,), (self._memory.clear,)]

    def roll_back(self, more: Iterable[Change] = ()) -> None:
        """Undoes everything. A second call has no effect.

        Args:
            more: further changes to apply
        """
        apply_changes([*self._memory_changes(), *reversed(self.changes), *more, *self.clear_changes()])

    def restore_modes(self) -> list[Change]:
        """Changes that restore the modes, so that ops run eagerly again."""
        modes, interceptors = vars(MODES), MODES.interceptors
        fast_call = None if interceptors.keys() - {"capture"} else MODES.call_silently
        state = {"grad": self._grad, "undo": self.outer_undo, "fast_call": fast_call}
        return [(interceptors.pop, "capture", None), (modes.update, state)]

    def _memory_changes(self) -> list[Change]:
        """The latest copies come first, because arrays may share memory."""
        return [write_change(array, copy) for array, copy in reversed(self._memory.values())]


__all__ = ["UndoLog"]
