"""Replays: calls of a compiled function without its Python code.

A function whose effects are known, and that was captured twice in one segment by one plan, gets a `Replay`: the plan,
the sources of its inputs, and the destinations of its results. Later calls check guards and run the plan. The engine's
objects advance as if Python had run: random states are reserved, optimizers count steps and compute factors.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from engine.backend import CPU, default_device
from engine.compiler.atomic_changes import Change, CommitChanges, apply_changes
from engine.compiler.instruction import exact_key
from engine.compiler.optimizer_replay import GuardFailed, OptimizerStepEvent, OptimizerStepReplay, advance_optimizers
from engine.compiler.output_buffer_pool import OutputBufferPool
from engine.compiler.plan import ExecutionPlan
from engine.compiler.replay_guards import (
    PLAIN_TYPES,
    GuardedObjects,
    ReplayUnsupported,
    TensorSource,
    object_arguments,
    path_text,
    resolve_path,
    tensor_arguments,
)
from engine.compiler.undo_log import UndoLog
from engine.dtypes import get_default_dtype
from engine.graph.node import Node
from engine.graph.traversal import reachable
from engine.modes import MODES
from engine.random.philox import State
from engine.tensors import Tensor
from engine.tensors.deferred import Deferred, Form, settled
from engine.tensors.storage import Storage

MAX_CALL_SIGNATURES = 64
"""Call signatures for which replays or candidates are kept; the oldest are dropped."""
MAX_GUARD_FAILURES = 20
"""Replays that are created for one call signature before it is given up."""


@dataclass(slots=True)
class RandomStateEvent:
    """A random state that was reserved."""

    generator: Any
    words: int
    state: State


@dataclass(slots=True)
class RecordedCall:
    """A captured call that ran as one segment by a plan."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    segment: Any
    plan: Any
    events: Sequence[RandomStateEvent | OptimizerStepEvent]
    had_gradient: frozenset[int]
    """Ids of the leaves that had a gradient before the call."""


class ReplayCache:
    """The replays of one function, by call signature.

    Args:
        replay_classes: further classes with methods that depend only on their object and their arguments
    """

    def __init__(self, replay_classes: Collection[type] = ()) -> None:
        self._replay_classes = replay_classes
        self._replays: dict[Any, Replay] = {}
        self._candidates: dict[Any, tuple[Any, list[Any]]] = {}
        """Call signature → plan and numbers of the previous call."""
        self.refused: dict[Any, str] = {}
        """Call signature → why Python runs on every call."""
        self.missed: list[str] = []
        """Names of failed guards, in the order of calls."""
        self.count = 0
        """Number of replayed calls."""
        self._misses: dict[Any, int] = {}

    def find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Replay | None]:
        """The signature of a call and its replay. The signature is None while a mode changes how ops run."""
        if not _has_default_modes():
            return None, None
        key = (MODES.grad, get_default_dtype(), default_device(), _signature_part((args, kwargs)))
        return key, self._replays.get(key)

    def leaves_with_gradients(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> frozenset[int] | None:
        """Ids of the reachable leaves that have a gradient; None if the call cannot be replayed."""
        if key is None or key in self.refused:
            return None
        try:
            if any(one._requires_grad for one in tensor_arguments(args, kwargs)):
                raise ReplayUnsupported("an argument requires gradients")
            return frozenset(
                [
                    id(leaf)
                    for leaf in GuardedObjects(args, kwargs, self._replay_classes).leaves
                    if leaf._grad is not None
                ]
            )
        except ReplayUnsupported as why:
            _insert_limited(self.refused, key, str(why))
            return None

    def miss(self, key: Any, guard: str) -> None:
        """Removes a replay whose guard failed."""
        self.missed.append(guard)
        del self._replays[key]
        self._misses[key] = self._misses.get(key, 0) + 1
        if self._misses[key] == MAX_GUARD_FAILURES:
            _insert_limited(self.refused, key, f"this keeps changing: {guard}")

    def add_candidate(self, key: Any, call: RecordedCall) -> None:
        """Creates a replay after the second equal call."""
        plan, numbers = self._candidates.pop(key, (None, []))
        if plan is not call.plan:
            _insert_limited(self._candidates, key, (call.plan, call.segment.scalars))
            return
        try:
            _insert_limited(self._replays, key, Replay(call, numbers, self._replay_classes))
        except ReplayUnsupported as why:
            _insert_limited(self.refused, key, str(why))


def _has_default_modes() -> bool:
    """Whether no mode changes how ops run in this thread, except for gradient mode, which is in the signature."""
    modes = MODES
    return (
        modes.fast_call is not None
        and not modes.inference
        and modes.packing is None
        and modes.check_nan is None
        and modes.backward_pass is None
        and not modes.recomputation
    )


def _insert_limited(table: dict[Any, Any], key: Any, value: Any) -> None:
    if len(table) >= MAX_CALL_SIGNATURES:
        del table[next(iter(table))]
    table[key] = value


def _signature_part(value: Any) -> Any:
    kind = type(value)
    if kind is tuple or kind is list:
        return (kind, *map(_signature_part, value))
    if kind is dict:
        return (kind, *[(name, _signature_part(item)) for name, item in value.items()])
    if isinstance(value, Tensor):
        return value._array.shape, value._array.dtype, value._requires_grad
    return exact_key(value) if kind in PLAIN_TYPES else id(value)


class _ComputedTensor(NamedTuple):
    """In the structure of a result: a tensor that the plan computes."""

    output: int
    node: Any
    """Its autograd node after backward, if it had one."""


class _ExistingTensor(NamedTuple):
    """In the structure of a result: a tensor that exists outside."""

    source: TensorSource


class Replay:
    """A call as a plan with known sources and destinations. Raises ReplayUnsupported if one is unknown."""

    def __init__(
        self, call: RecordedCall, previous_numbers: Sequence[Any], replay_classes: Collection[type] = ()
    ) -> None:
        self.plan, self.events = call.plan, call.events
        arrays = call.segment.externals
        self._steps = [
            OptimizerStepReplay(event, arrays) for event in call.events if isinstance(event, OptimizerStepEvent)
        ]
        guarded = GuardedObjects(call.args, call.kwargs, replay_classes)
        found = call.segment.tensors
        self._inputs: list[tuple[int, TensorSource, Form, bool]] = []
        for external in call.segment.input_specs:
            tensor = found[external.slot]
            source = guarded.source_of(tensor)
            if source is None:
                size = "×".join(map(str, external.form.shape)) or "single"
                raise ReplayUnsupported(
                    f"a {size} tensor from outside is created in each call, or not reachable from the arguments"
                )
            if _is_watched(tensor):
                raise ReplayUnsupported(f"there are hooks on {source.label}")
            self._inputs.append((external.slot, source, external.form, tensor._requires_grad))
        changes = [
            (source, found[slot]._storage.version - call.segment.versions[slot]) for slot, source, _, _ in self._inputs
        ]
        self._versions = [(source, change) for source, change in changes if change]
        self._unchanged = guarded.unchanged
        self._objects = [(path, _reference(value)) for path, value in object_arguments(call.args, call.kwargs)]
        self._scalars = _fixed_numbers(call, previous_numbers)
        self._gradients, self._result = _destinations(call, guarded)
        self._had_gradient = [leaf is not None and id(leaf) in call.had_gradient for leaf in self._gradients]
        reusable = self.plan.reusable_outputs if isinstance(self.plan, ExecutionPlan) else frozenset()
        pooled = [index for index, leaf in enumerate(self._gradients) if leaf is not None and index in reusable]
        self._output_buffers = OutputBufferPool({index: self.plan.graph.outputs[index].form for index in pooled})

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the call. Raises GuardFailed, before anything has changed, if a guard fails."""
        self._check(args, kwargs)
        for leaf, had_gradient in zip(self._gradients, self._had_gradient, strict=True):
            if leaf is not None and (leaf._grad is not None) is not had_gradient:
                raise GuardFailed("whether parameters have gradients")
        externals: dict[int, Any] = {}
        for slot, source, form, requires_grad in self._inputs:
            tensor = source.tensor(args, kwargs)
            if tensor._requires_grad is not requires_grad or _is_watched(tensor):
                raise GuardFailed(f"{source.label}: requires_grad or its hooks")
            array = tensor._array
            if type(array) is Deferred:
                array = settled(tensor)
            if array.shape != form.shape or array.dtype != form.dtype or array.strides != form.strides:
                raise GuardFailed(f"{source.label}: its shape, dtype or layout")
            externals[slot] = array
        storages = [(source.tensor(args, kwargs)._storage, change) for source, change in self._versions]
        versions = [(setattr, storage, "version", storage.version + change) for storage, change in storages]
        undo = UndoLog()

        def commit(values: list[Any]) -> list[Change]:
            gradients = [
                (setattr, leaf, "_grad", Tensor(value, Storage(CPU)))
                for leaf, value in zip(self._gradients, values, strict=True)
                if leaf is not None
            ]
            return [*versions, *gradients, *self._output_buffers.register_outputs(values), *undo.clear_changes()]

        try:
            values = self._run(externals, undo, commit)
        except BaseException:  # once more: the first attempt may have been interrupted
            undo.roll_back()
            apply_changes(undo.restore_modes())
            raise
        self._output_buffers.reclaim()
        return _fill_result(self._result, values, args, kwargs)

    def _check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises GuardFailed if an object has changed."""
        for path, reference in self._objects:  # the signature has their ids, which other objects may get later
            if resolve_path(path, args, kwargs) is not reference():
                raise GuardFailed(f"argument {path_text(path)} is another object")
        difference = self._unchanged.difference()
        if difference is not None:
            raise GuardFailed(difference)

    def _run(self, externals: dict[int, Any], undo: UndoLog, commit: CommitChanges) -> list[Any]:
        """Runs the plan. Gradients reuse the memory of replaced ones."""
        try:
            MODES.undo = undo.changes
            numbers = self._numbers(undo)
            memory = (self._output_buffers.take_buffers(),) if self._output_buffers else ()
            values = self.plan.run(externals, numbers, commit, *memory)
            MODES.undo = undo.outer_undo
            return values
        except BaseException:
            undo.roll_back()
            apply_changes(undo.restore_modes())
            raise

    def _numbers(self, undo: UndoLog) -> list[Any]:
        """The scalars of this call."""
        scalars = list(self._scalars)
        for step, numbers in zip(self._steps, advance_optimizers(self._steps, undo), strict=True):
            scalars[step.begin : step.end] = numbers
        states = [event.generator.reserve(event.words) for event in self.events if isinstance(event, RandomStateEvent)]
        drawn = iter(states)
        return [next(drawn) if value is _STATE else value for value in scalars]


def _reference(value: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _is_watched(tensor: Tensor) -> bool:
    """Whether hooks observe the tensor's gradient."""
    hooks = tensor._hooks
    return hooks is not None and bool(hooks.tensors or hooks.accumulated)


_STATE, _STEP = object(), object()


def _fixed_numbers(call: RecordedCall, previous_numbers: Sequence[Any]) -> list[Any]:
    """The scalars of a call that are the same in every call; placeholders for the others."""
    scalars: list[Any] = list(call.segment.scalars)
    drawn = [event.state for event in call.events if isinstance(event, RandomStateEvent)]
    if len(set(drawn)) < len(drawn):
        raise ReplayUnsupported("random numbers are drawn twice from one state, as by a checkpoint")
    for event in call.events:
        if isinstance(event, OptimizerStepEvent):
            scalars[event.begin : event.end] = [_STEP] * (event.end - event.begin)
    for index, value in enumerate(scalars):
        if isinstance(value, State):
            if not drawn or drawn.pop(0) is not value:
                raise ReplayUnsupported("a random state comes from no generator")
            scalars[index] = _STATE
        elif value is not _STEP and value != previous_numbers[index]:
            raise ReplayUnsupported(f"a number changes from call to call: {previous_numbers[index]}, then {value}")
    return scalars


def _destinations(call: RecordedCall, guarded: GuardedObjects) -> tuple[list[Tensor | None], Any]:
    """For each output the leaf whose gradient it is, or None; and the structure of the result."""
    gradients = {id(leaf._grad): leaf for leaf in guarded.leaves if leaf._grad is not None}
    index_of: dict[int, int] = {}
    outputs: list[Tensor | None] = []
    for index, owners in enumerate(call.segment.owners):
        outputs.append(next((gradients[id(one)] for one in owners if id(one) in gradients), None))
        index_of.update((id(one), index) for one in owners if id(one) not in gradients)
    used: set[int] = set()
    result = _result_template(call.result, index_of, guarded, used)
    if index_of.keys() - used:
        raise ReplayUnsupported("a tensor is stored elsewhere than in the result or as a gradient")
    return outputs, result


def _saves_tensors(node: Node) -> bool:
    entries = (entry for each in reachable([(node, 0)]) for entry in each.saved_entries())
    return any(version is not None for *_, version in entries)


def _result_template(value: Any, index_of: dict[int, int], guarded: GuardedObjects, used: set[int]) -> Any:
    if isinstance(value, Tensor):
        if id(value) in index_of:
            used.add(id(value))
            if value._node is not None and _saves_tensors(value._node):
                raise ReplayUnsupported("a result has an autograd graph that backward() has not used yet")
            return _ComputedTensor(index_of[id(value)], value._node)
        source = guarded.source_of(value)
        if source is None:
            raise ReplayUnsupported("a result is created in each call without an op")
        return _ExistingTensor(source)
    if isinstance(value, dict):
        return {key: _result_template(item, index_of, guarded, used) for key, item in value.items()}
    if type(value) in (tuple, list):
        return type(value)(_result_template(item, index_of, guarded, used) for item in value)
    return value


def _fill_result(value: Any, arrays: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    kind = type(value)
    if kind is _ComputedTensor:
        tensor = Tensor(arrays[value.output], Storage(CPU))
        if value.node is not None:
            tensor._node, tensor._requires_grad = value.node, True
        return tensor
    if kind is _ExistingTensor:
        return value.source.tensor(args, kwargs)
    if kind is dict:
        return {key: _fill_result(item, arrays, args, kwargs) for key, item in value.items()}
    if kind is tuple or kind is list:
        return kind(_fill_result(item, arrays, args, kwargs) for item in value)
    return value


__all__ = ["GuardFailed", "RandomStateEvent", "RecordedCall", "Replay", "ReplayCache"]
