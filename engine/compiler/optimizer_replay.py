"""Optimizer steps in replayed calls: their Python code computes counters and scalars, but runs no ops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from engine.backend import CPU
from engine.compiler.atomic_changes import Change
from engine.compiler.instruction import Slot, TraceNode, freeze
from engine.compiler.replay_guards import ReplayUnsupported
from engine.compiler.undo_log import UndoLog
from engine.dtypes import NUMBERS
from engine.modes import MODES
from engine.ops.elementwise.update import clone
from engine.ops.record import Op
from engine.tensors import Tensor
from engine.tensors.dispatch.op_call import number
from engine.tensors.storage import Storage

CallKey: TypeAlias = tuple[Op, bool, Any, tuple[Any, ...]]
"""Key of an op call, which must equal that of the traced op: op, whether it writes, static arguments, inputs."""


class GuardFailed(Exception):  # noqa: N818 - not an error: the function's Python runs this time
    """The replay cannot run, because a guarded object or setting has changed. Python runs instead."""


@dataclass(slots=True)
class OptimizerStepEvent:
    """A traced step of an optimizer, with the range of its scalars."""

    optimizer: Any
    begin: int
    end: int = 0
    params: list[tuple[Tensor, dict[str, Any]]] = field(default_factory=list)
    """Parameters with a gradient, each with the hyperparameters of its group."""
    first: TraceNode | None = None
    """Node of the trie before the step."""
    last: TraceNode | None = None
    """Node of the trie after the step."""


class OptimizerStepReplay:
    """Repeats the Python code of an optimizer step.

    Args:
        event: the traced step
        arrays: input arrays by slot
    """

    def __init__(self, event: OptimizerStepEvent, arrays: Mapping[int, Any]) -> None:
        self.begin, self.end, self.optimizer = event.begin, event.end, event.optimizer
        if any(isinstance(value, Tensor) for _, options in event.params for value in options.values()) or any(
            isinstance(group.get("lr"), Tensor) for group in event.optimizer.param_groups
        ):
            raise ReplayUnsupported(f"a hyperparameter of {type(event.optimizer).__name__} is a tensor")
        self._params = [(param, _gradient_placeholder(param), options) for param, options in event.params]
        keys = [self._array_keys(param) for param, _, _ in self._params]
        array_keys = {id: (index, key) for index, found in enumerate(keys) for id, key in found}
        self._calls = _recorded_calls(event, arrays, array_keys)
        self._first_calls: list[int] = []
        """Index of the first call of each parameter, once known."""
        self._is_uniform = getattr(type(event.optimizer).update, "is_same_for_all_parameters", False)

    def numbers(self) -> list[Any]:
        """The scalars of the next step; counters advance. Raises GuardFailed if the ops differ from the traced ones."""
        grad, MODES.grad = MODES.grad, False
        try:
            found = (
                self._numbers_by_group() if self._first_calls and self._is_uniform else self._numbers_of_all_params()
            )
        finally:
            MODES.capture, MODES.grad = None, grad
        self.optimizer.steps += 1
        return found

    def _numbers_of_all_params(self) -> list[Any]:
        numbers, first_calls = _Numbers(), [0]
        MODES.capture = numbers
        for index, (param, gradient, options) in enumerate(self._params):
            numbers.array_keys = {id: (index, key) for id, key in self._array_keys(param)}
            self.optimizer.update_one(param, gradient, options)
            first_calls.append(len(numbers.calls))
        self._compare(numbers.calls, self._calls)
        self._first_calls = first_calls
        return numbers.found

    def _numbers_by_group(self) -> list[Any]:
        """The same, running the update once for parameters with equal hyperparameters and counters."""
        found: list[Any] = []
        computed: dict[Any, tuple[list[Any], dict[str, Any]]] = {}
        for index, (param, gradient, options) in enumerate(self._params):
            state = self.optimizer.state[param]
            key = (id(options), *[(name, None if isinstance(one, Tensor) else one) for name, one in state.items()])
            if key not in computed:
                numbers = MODES.capture = _Numbers()
                numbers.array_keys = {id: (index, key) for id, key in self._array_keys(param)}
                self.optimizer.update_one(param, gradient, options)
                self._compare(numbers.calls, self._calls[self._first_calls[index] : self._first_calls[index + 1]])
                counts = {name: one for name, one in state.items() if not isinstance(one, Tensor)}
                computed[key] = numbers.found, counts
            else:
                state.update(computed[key][1])
            found += computed[key][0]
        return found

    def _compare(self, calls: list[CallKey], recorded: list[CallKey]) -> None:
        if calls != recorded:
            raise GuardFailed(f"the ops of a step of {type(self.optimizer).__name__}")

    def undo_changes(self) -> list[Change]:
        """Changes that undo a step, except for arrays."""
        params = [param for param, _, _ in self._params]
        versions = [(setattr, one, "version", one.version) for one in (param._storage for param in params)]
        return [*versions, *optimizer_undo_changes(self.optimizer, params)]

    def _array_keys(self, param: Tensor) -> list[tuple[int, str]]:
        """The ids of a parameter's array and of its state arrays, with their names."""
        state = self.optimizer.state[param]
        remembered = [(id(value._array), name) for name, value in state.items() if isinstance(value, Tensor)]
        return [(id(param._array), ""), *remembered]


def _gradient_placeholder(param: Tensor) -> Tensor:
    """A placeholder for a gradient, whose values are not used."""
    return Tensor(np.broadcast_to(np.zeros((), param._array.dtype), param._array.shape), Storage(CPU))


def _recorded_calls(
    event: OptimizerStepEvent, arrays: Mapping[int, Any], array_keys: Mapping[int, Any]
) -> list[CallKey]:
    assert event.first is not None
    assert event.last is not None
    found: list[CallKey] = []
    for node in event.last.path()[event.first.depth :]:
        assert node.parent is not None
        key = next(key for key, child in node.parent.children.items() if child is node)
        inputs = tuple(
            array_keys.get(id(arrays.get(one.number))) if isinstance(one, Slot) else part
            for one, part in zip(node.call.inputs, key[3:], strict=False)
        )
        found.append((key[0], key[1], key[2], inputs))
    return found


def optimizer_undo_changes(optimizer: Any, params: Iterable[Tensor]) -> list[Change]:
    """Changes that undo the counters of a step, to be applied in reverse order."""
    found: list[Change] = [(setattr, optimizer, "steps", optimizer.steps)]
    for param in params:
        state = optimizer.state[param]
        found += [(state.update, dict(state)), (state.clear,)]
    return found


def advance_optimizers(steps: Sequence[OptimizerStepReplay], undo: UndoLog) -> list[list[Any]]:
    """The scalars of the next steps of all optimizers. Counters advance; `undo` can revert them.

    Raises GuardFailed if the ops of a step differ from the traced ones.
    """
    for step in steps:
        undo.changes += step.undo_changes()
    try:
        return [step.numbers() for step in steps]
    except GuardFailed:
        raise
    except Exception as error:  # noqa: BLE001 - the function's Python raises it again
        raise GuardFailed(f"a step fails: {error}") from None


class _Numbers:
    """Collects ops and scalars without computing."""

    def __init__(self) -> None:
        self.array_keys: Mapping[int, Any] = {}
        """Id of an array → its key in a call."""
        self.found: list[Any] = []
        self.calls: list[CallKey] = []

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> Any:
        self._note(op, inputs, statics, in_place=False)
        first = next(value for value in inputs if isinstance(value, Tensor))
        return Tensor(first._array[...], Storage(CPU))

    def write(self, op: Op, target: Tensor, inputs: Sequence[Any], statics: dict[str, Any]) -> None:
        self._note(op, inputs, statics, in_place=True)

    def copy(self, tensor: Tensor) -> Tensor:
        return self.call(clone, (tensor,), clone.defaults)

    def fill(self, shape: tuple[int, ...], dtype: Any, value: Any, device: Any) -> None:
        """Initial optimizer state is created at once, as during tracing."""

    def _note(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], *, in_place: bool) -> None:
        parts = tuple(
            self.array_keys.get(id(value._array))
            if isinstance(value, Tensor)
            else freeze(value if type(value) in NUMBERS and op.takes_numbers else number(op, value), self.found)
            for value in inputs
        )
        fixed = None if statics is op.defaults else freeze(statics, self.found)
        self.calls.append((op, in_place, fixed, parts))


__all__ = ["GuardFailed", "OptimizerStepEvent", "OptimizerStepReplay", "advance_optimizers", "optimizer_undo_changes"]
