"""Steps of optimizers in a replay: their Python runs, for it counts and computes numbers, and their ops do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from engine.backend import CPU
from engine.compiler.instruction import Slot, Trie, frozen
from engine.dispatch.run import number
from engine.dtypes import NUMBERS
from engine.modes import MODES
from engine.ops.elementwise.update import clone
from engine.ops.record import Op
from engine.storage import Storage
from engine.tensor import Tensor

Called: TypeAlias = tuple[Op, bool, Any, tuple[Any, ...]]
"""What a call of an op must have in common with the recorded one: op, whether it writes, static arguments, inputs."""


class Missed(Exception):  # noqa: N818 - not an error: the function's Python runs this time
    """Something is not as it was."""


@dataclass(slots=True)
class Stepped:
    """A step of an optimizer, and the places of the numbers that it used."""

    optimizer: Any
    begin: int
    end: int = 0
    params: list[tuple[Tensor, dict[str, Any]]] = field(default_factory=list)
    """Those with a gradient, each with the options of its group."""
    first: Trie | None = None
    """Where it began among the recordings."""
    last: Trie | None = None
    """Where it ended."""


class Step:
    """A step of an optimizer that is to be taken again.

    Args:
        event: how it was recorded
        arrays: what was found outside, by slot
    """

    def __init__(self, event: Stepped, arrays: Mapping[int, Any]) -> None:
        self.begin, self.end, self.optimizer = event.begin, event.end, event.optimizer
        self._due = [(param, _stand_in(param), options) for param, options in event.params]
        self._calls = _recorded(event, arrays, self._places())

    def numbers(self) -> list[Any]:
        """Those of the next step; its counts go on. Raises Missed if it is no longer the one that was recorded."""
        numbers = MODES.capture = _Numbers(self._places())
        grad, MODES.grad = MODES.grad, False
        try:
            self.optimizer.advance(self._due)
        finally:
            MODES.capture, MODES.grad = None, grad
        if numbers.calls != self._calls:
            raise Missed(f"what a step of {type(self.optimizer).__name__} does")
        return numbers.found

    def kept(self) -> Callable[[], None]:
        """Puts back what a step changes apart from arrays."""
        optimizer, steps = self.optimizer, self.optimizer.steps
        states = [(param, param._storage.version, dict(optimizer.state[param])) for param, _, _ in self._due]

        def put_back() -> None:
            optimizer.steps = steps
            for param, version, state in states:
                param._storage.version = version
                optimizer.state[param].clear()
                optimizer.state[param].update(state)

        return put_back

    def _places(self) -> dict[int, int]:
        """A number for each array of a parameter and of what is remembered of it, by the array's id."""
        found: dict[int, int] = {}
        state = self.optimizer.state
        for param, _, _ in self._due:
            found[id(param._array)] = len(found)
            for value in state[param].values():
                if isinstance(value, Tensor):
                    found[id(value._array)] = len(found)
        return found


def _stand_in(param: Tensor) -> Tensor:
    """For a gradient, whose numbers nobody asks for."""
    return Tensor(np.broadcast_to(np.zeros((), param._array.dtype), param._array.shape), Storage(CPU))


def _recorded(event: Stepped, arrays: Mapping[int, Any], places: Mapping[int, int]) -> list[Called]:
    assert event.first is not None
    assert event.last is not None
    found: list[Called] = []
    for node in event.last.path()[event.first.depth :]:
        assert node.parent is not None
        key = next(key for key, child in node.parent.children.items() if child is node)
        inputs = tuple(
            places.get(id(arrays.get(one.number))) if isinstance(one, Slot) else part
            for one, part in zip(node.call.inputs, key[3:], strict=False)
        )
        found.append((key[0], key[1], key[2], inputs))
    return found


def advance(steps: Sequence[Step]) -> list[list[Any]]:
    """The numbers of the optimizers' next steps; their counts go on. Raises Missed, and then nothing has changed."""
    before = [step.kept() for step in steps]
    try:
        return [step.numbers() for step in steps]
    except Exception as error:
        for put_back in before:
            put_back()
        if isinstance(error, Missed):
            raise
        raise Missed(f"a step that fails: {error}") from None


class _Numbers:
    """Takes down op calls and their numbers, and computes nothing."""

    def __init__(self, places: Mapping[int, int]) -> None:
        self._places = places
        self.found: list[Any] = []
        self.calls: list[Called] = []

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> Any:
        self._note(op, inputs, statics, in_place=False)
        first = next(value for value in inputs if isinstance(value, Tensor))
        return Tensor(first._array[...], Storage(CPU))

    def write(self, op: Op, target: Tensor, inputs: Sequence[Any], statics: dict[str, Any]) -> None:
        self._note(op, inputs, statics, in_place=True)

    def copy(self, tensor: Tensor) -> Tensor:
        return self.call(clone, (tensor,), clone.defaults)

    def fill(self, shape: tuple[int, ...], dtype: Any, value: Any, device: Any) -> None:
        """What an optimizer begins with is made at once, as where steps are recorded."""

    def _note(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], *, in_place: bool) -> None:
        parts = tuple(
            self._places.get(id(value._array))
            if isinstance(value, Tensor)
            else frozen(value if type(value) in NUMBERS and op.takes_numbers else number(op, value), self.found)
            for value in inputs
        )
        fixed = None if statics is op.defaults else frozen(statics, self.found)
        self.calls.append((op, in_place, fixed, parts))


__all__ = ["Missed", "Step", "Stepped", "advance"]
