"""What takes back the changes of a call of a compiled function that ends before it is over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from engine.compiler.atomic_changes import Change, apply_changes, write_change
from engine.compiler.sequential_executor import written_slots
from engine.modes import MODES


class WrittenSegment(Protocol):
    """The part of a recorded segment whose writes are undone."""

    node: Any
    externals: Any


class UndoLog:
    """Changes of one call in this thread, since it began or since its last graph break.

    Whoever changes something lasting notes before how that is taken back, in `changes` or with `save`. The last change
    of a call is made together with `forgetting`: until then an exception finds everything that it needs here, and after
    that nothing.
    """

    __slots__ = ("_grad", "_memory", "before", "changes")

    def __init__(self) -> None:
        self.changes: list[Change] = []
        """Made from the last to the first, they restore what was."""
        self._memory: dict[int, tuple[Any, Any]] = {}
        """Id of an array → the array, kept so that the id stays its own, and its copy."""
        self._grad, self.before = MODES.grad, MODES.undo

    def save(self, array: Any) -> None:
        """Before `array` is written to."""
        if id(array) not in self._memory:
            self._memory[id(array)] = array, array.copy()

    def save_written(self, segment: WrittenSegment) -> None:
        """Before what is recorded so far is run."""
        for slot in written_slots([entry.call for entry in segment.node.path()]):
            array = segment.externals.get(slot)
            if array is not None:
                self.save(array)

    def restore_memory(self) -> None:
        """Writes the old numbers back, so that a plan can do the same once more."""
        apply_changes(self._old_numbers())

    def forgetting(self) -> list[Change]:
        """From there on nothing is taken back."""
        return [(self.changes.clear,), (self._memory.clear,)]

    def roll_back(self, more: Iterable[Change] = ()) -> None:
        """Takes everything back. Again, it does nothing.

        Args:
            more: changes that belong to it
        """
        apply_changes([*self._old_numbers(), *reversed(self.changes), *more, *self.forgetting()])

    def leaving(self) -> list[Change]:
        """Leaves the modes as they were: ops run again."""
        modes, having_say = vars(MODES), MODES.having_say
        direct = None if having_say.keys() - {"capture"} else MODES.quiet
        state = {"grad": self._grad, "undo": self.before, "direct": direct}
        return [(having_say.pop, "capture", None), (modes.update, state)]

    def _old_numbers(self) -> list[Change]:
        """What was saved last comes first, since arrays may share memory."""
        return [write_change(array, copy) for array, copy in reversed(self._memory.values())]


__all__ = ["UndoLog"]
