"""Memory from outside as it was before a recording wrote to it, so that a plan can do the same once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.compiler.instruction import Slot

if TYPE_CHECKING:
    from engine.compiler.segment import Segment


class Undo:
    """Copies of what was written to, made before the first write."""

    def __init__(self) -> None:
        self._saved: dict[int, tuple[Any, Any]] = {}
        """Id of an array → the array, kept so that the id stays its own, and its copy."""

    def save(self, array: Any) -> None:
        """Before `array` is written to."""
        if id(array) not in self._saved:
            self._saved[id(array)] = array, array.copy()

    def save_written(self, segment: Segment) -> None:
        """Before what is recorded so far is run."""
        roots: dict[int, int] = {}
        for place in segment.node.path():
            call = place.call
            if call.views and isinstance(call.inputs[0], Slot):
                roots[call.outputs[0]] = roots.get(call.inputs[0].number, call.inputs[0].number)
            elif call.in_place:
                array = segment.externals.get(roots.get(call.outputs[0], call.outputs[0]))
                if array is not None:
                    self.save(array)

    def restore(self) -> None:
        """Writes the old numbers back; what was saved last first, since arrays may share memory."""
        for array, copy in reversed(self._saved.values()):
            array[...] = copy
        self._saved.clear()


__all__ = ["Undo"]
