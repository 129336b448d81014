"""Captures the ops of a compiled function instead of running them, and runs them when their values are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from time import perf_counter
from typing import Any
from weakref import ref

from engine.backend import META, Device
from engine.compiler.atomic_changes import Change, apply_changes
from engine.compiler.break_reasons import DEVICE, EXPOSED, MEMORY, OBSERVED, OPAQUE, BreakReason
from engine.compiler.compile_report import SegmentRun
from engine.compiler.fill_op import FILL
from engine.compiler.instruction import FLOAT, TraceNode, UnhashableArgument, freeze
from engine.compiler.instruction_builder import depends_on_memory_layout
from engine.compiler.op_recorder import CaptureOwner, OpRecorder
from engine.compiler.optimizer_replay import OptimizerStepEvent, optimizer_undo_changes
from engine.compiler.random_op import RANDOM
from engine.compiler.recorded_segment import RecordedSegment, adopt_saved_tensors
from engine.compiler.replay import RandomStateEvent
from engine.compiler.suggest_rewrite import fullgraph_error
from engine.dtypes import NUMBERS, from_numpy
from engine.errors import CompileError, EngineError
from engine.modes import MODES
from engine.observe import call_site
from engine.ops.elementwise.update import clone
from engine.ops.record import Op
from engine.random import RandomNumbers
from engine.random.philox import State
from engine.shape import Dim, count
from engine.tensors import Storage, Tensor
from engine.tensors.deferred import Deferred, Form
from engine.tensors.dispatch.in_place_call import write
from engine.tensors.dispatch.node_recording import record
from engine.tensors.dispatch.op_call import run


class Capture(OpRecorder):
    """One call of a compiled function in its thread. `engine.tensors.dispatch` passes it every op."""

    def __init__(self, owner: CaptureOwner, *, for_explain: bool = False) -> None:
        super().__init__(owner, RecordedSegment(self, owner.root_at(None), None), for_explain=for_explain)
        self.runs: list[SegmentRun] = []
        """The segments so far."""
        self.events: list[RandomStateEvent | OptimizerStepEvent] = []
        """Optimizer steps and random states, which are not ops."""
        self.sole_segment: RecordedSegment | None = None
        """The segment, if it is the only one and a plan ran it."""
        self._thread = get_ident()
        self._optimizing = False

    # -- ops

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> Any:
        """Captures an op that creates tensors or views.

        This is the fast path for a known op with known inputs; it takes a third of the time of `_call_any`.
        """
        segment = self.segment
        if not segment.deferring or self.for_explain or len(MODES.interceptors) > 1:
            return self._call_any(op, inputs, statics)
        requires_grad, numbers, slots = False, [], segment.slots
        key: list[Any] = [op, False, None]
        for value in inputs:
            if isinstance(value, Tensor):
                array = value._array
                view = value._view
                if view is not None and value._base._node is not view[1]:  # pyright: ignore[reportOptionalMemberAccess]
                    return self._call_any(op, inputs, statics)
                if type(array) is Deferred and array.segment is segment:
                    key.append(array.slot)
                elif (slot := slots.get(id(array))) is not None:
                    key.append(slot)
                else:
                    return self._call_any(op, inputs, statics)
                if value._requires_grad:
                    requires_grad = True
            elif type(value) is float:
                key.append(FLOAT)
                numbers.append(value)
            else:
                return self._call_any(op, inputs, statics)
        if statics is not op.defaults:
            try:
                key[2] = freeze(statics, numbers)
            except UnhashableArgument:
                return self._call_any(op, inputs, statics)
        node = segment.node.children.get(tuple(key))
        if type(node) is not TraceNode:
            return self._call_any(op, inputs, statics)
        segment.node = node
        if numbers:
            segment.scalars += numbers
        if node.single is None or requires_grad:
            return self._results(op, inputs, statics, node, None, requires_grad=requires_grad)
        slot, form, device = node.single
        out = Tensor(None, Storage(device))
        out._array = deferred = Deferred(segment, slot, form, None, [ref(out)])  # as `RecordedSegment.hand_out` does
        segment.deferreds.append(ref(deferred))
        segment.count += 1
        return out

    def _call_any(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> Any:
        """Captures any op."""
        if MODES.autocast is not None:
            inputs = MODES.autocast.prepare(op, inputs)
        requires_grad, device = False, None
        for value in inputs:
            if isinstance(value, Tensor):
                if value._view is not None:
                    value._refresh()
                requires_grad |= value._requires_grad
                other = value._storage.device
                if device is None:
                    device = other
                    if op.view and value._storage.is_exposed:
                        return self._run_eagerly(op, inputs, statics)
                elif other is not device:
                    return self._run_eagerly(op, inputs, statics, DEVICE)
        if device is META or device is None:
            return self._run_eagerly(op, inputs, statics)
        if MODES.observer is not None:
            return self._run_eagerly(op, inputs, statics, OBSERVED)
        if op.view and depends_on_memory_layout(op, inputs, statics):
            return self._run_eagerly(op, inputs, statics, MEMORY)
        found = self._next(op, inputs, statics, device, in_place=False)
        if isinstance(found, BreakReason):
            return self._run_eagerly(op, inputs, statics, found)
        return self._results(op, inputs, statics, *found, requires_grad=requires_grad)

    def _results(
        self,
        op: Op,
        inputs: Sequence[Any],
        statics: dict[str, Any],
        node: TraceNode,
        values: Any,
        *,
        requires_grad: bool,
    ) -> Any:
        """The results of an op, with autograd history."""
        outs = self._outputs(op, inputs, statics, node, values)
        if requires_grad and MODES.grad and op.rules:
            record(op, inputs, statics, outs, node.call.where)
            adopt_saved_tensors(outs)
        return outs[0] if op.outputs == 1 else tuple(outs)

    def write(self, op: Op, target: Tensor, inputs: Sequence[Any], statics: dict[str, Any]) -> None:
        """Captures a write of an op's result to the memory of `target`, its first input. The caller updates version and
        history.
        """
        self.undo.changes.append((setattr, target._storage, "version", target._storage.version))
        reason = EXPOSED if target._storage.is_exposed else None if MODES.observer is None else OBSERVED
        if op.view and depends_on_memory_layout(op, inputs, statics):
            reason = MEMORY
        found = reason or self._next(op, inputs, statics, target._storage.device, in_place=True)
        if isinstance(found, BreakReason):
            self.demand(self.segment, found, op.name)
            arrays = [v._numbers() if isinstance(v, Tensor) else v for v in inputs]
            write(op, target, arrays, statics, target._storage.device)
        elif type(target._array) is not Deferred:  # it has no value until the write has run
            segment, array = self.segment, target._array
            slot = segment.part(target)
            segment.hand_out(target, slot, Form.of(array), None if segment.deferring else array)

    def fill(self, shape: tuple[int, ...], dtype: Any, value: Any, device: Device) -> Tensor | None:
        """A tensor filled with one value; None where the op is not captured."""
        if self._optimizing:  # initial optimizer state counts as an input, as it is one in later steps
            return None
        if MODES.inference or MODES.observer is not None or any(isinstance(size, Dim) for size in shape):
            return None
        statics = {"shape": shape, "dtype": dtype, "value": value}
        found = self._next(FILL, (), statics, device, in_place=False)
        if isinstance(found, BreakReason):
            return None
        return self._outputs(FILL, (), statics, *found)[0]

    def random(self, shape: tuple[int, ...], dtype: Any, drawn: RandomNumbers, device: Device) -> Tensor | None:
        """A tensor of random numbers; None where the op is not captured."""
        if MODES.inference or MODES.observer is not None or any(isinstance(size, Dim) for size in shape):
            return None
        if not (type(drawn.first) in NUMBERS and type(drawn.second) in NUMBERS):
            return None
        state = drawn.reserve(count(shape), from_numpy(dtype))
        names = {"distribution": drawn.distribution, "first": drawn.first, "second": drawn.second}
        statics = {"shape": shape, "dtype": dtype, **names, "state": state}
        found = self._next(RANDOM, (), statics, device, in_place=False)
        if isinstance(found, BreakReason):
            return self._run_eagerly(RANDOM, (), statics, found)
        return self._outputs(RANDOM, (), statics, *found)[0]

    def note_reserved(self, generator: Any, words: int, state: State) -> None:
        """Notes that a generator reserved `state` for `words` words."""
        self.events.append(RandomStateEvent(generator, words, state))

    @contextmanager
    def optimizer_step(self, optimizer: Any, params: list[tuple[Tensor, dict[str, Any]]]) -> Iterator[None]:
        """Captures a step of an optimizer on parameters, each with the hyperparameters of its group."""
        self.undo.changes += optimizer_undo_changes(optimizer, [param for param, _ in params])
        segment = self.segment
        event = OptimizerStepEvent(optimizer, len(segment.scalars), params=params, first=segment.node)
        self._optimizing = True
        try:
            yield
        finally:
            self._optimizing = False
        if segment is self.segment:
            event.end = len(segment.scalars)
            event.last = segment.node
            self.events.append(event)

    def copy(self, tensor: Tensor) -> Tensor:
        """A copy without autograd history."""
        return self.call(clone, (Tensor(tensor._array, tensor._storage),), clone.defaults)

    def elements(self, tensor: Tensor) -> Iterator[Tensor]:
        """The parts of a tensor along its first dimension, for iteration."""
        for index in range(len(tensor)):
            part = tensor[index]
            if type(part._array) is Deferred:
                self.segment.elements.add(part._array.slot)
            yield part

    # -- running

    def _run_planned(self, segment: RecordedSegment) -> None:
        """Runs the segment by its plan. A new trace is undone first, because its ops have run already."""
        if not segment.node.depth:
            apply_changes([(setattr, segment, "is_over", True), *self.undo.clear_changes()])
            return
        if not segment.deferring:
            self.undo.restore_memory()
        began, pending = perf_counter(), segment.pending()

        def commit(values: list[Any]) -> list[Change]:
            found = [(setattr, deferred, "value", value) for deferred, value in zip(pending, values, strict=True)]
            return [*found, (setattr, segment, "is_over", True), *self.undo.clear_changes()]

        plan = self.owner.plan(segment.node, tuple([one.slot for one in pending]))
        plan.run(segment.externals, segment.scalars, commit)
        segment.plan, segment.seconds = plan, perf_counter() - began
        if self.owner.may_replay:
            segment.owners = [[t for owner in one.owners if (t := owner()) is not None] for one in pending]

    def finish(self, reason: BreakReason | None = None, requested: int | str | None = None) -> None:
        """Ends the segment and computes all arrays in use. If that fails, nothing has changed.

        Args:
            reason: reason of the graph break; None at the end of the function
            requested: slot of the requested array, or name of the op that cannot be captured
        """
        try:
            self._finish(reason, requested)
        except BaseException as error:
            self.abandon(error)
            raise

    def _finish(self, reason: BreakReason | None, requested: int | str | None) -> None:
        segment, began, where = self.segment, perf_counter(), None if reason is None else call_site()
        node, is_known, report = segment.node, segment.deferring, self.owner.report
        if is_known or self.owner.exact:
            self._run_planned(segment)
        else:
            apply_changes([(setattr, segment, "is_over", True), *self.undo.clear_changes()])
        if not node.runs or segment.start is not None:
            report.note_end(self.number, segment.start, node, is_known=is_known)
        node.runs += 1
        is_sole = self.owner.may_replay and is_known and segment.start is None and segment.plan is not None
        self.sole_segment = segment if is_sole else None
        segment.release()
        self.segment = RecordedSegment(self, self.owner.root_at(where), (id(node), where))
        cost, op = perf_counter() - began, None
        if reason is not None:
            op = report.note_break(reason, where, node, requested, cost)
        origins = tuple(segment.origins)
        self.runs.append(SegmentRun(node, is_known, segment.plan, segment.seconds, reason, where, op, cost, origins))

    def abandon(self, error: BaseException) -> None:
        """Undoes everything since the last graph break. A second call has no effect."""
        segment = self.segment
        if not segment.is_over:
            self.undo.roll_back(segment.failure_changes(error))
        segment.release()
        self.segment = RecordedSegment(self, self.owner.root_at(None), None)

    def close(self) -> None:
        """Ends the call. Frees arrays that would otherwise wait for the garbage collector."""
        self.segment.release()

    def demand(
        self, segment: RecordedSegment, reason: BreakReason | None = None, requested: int | str | None = None
    ) -> None:
        """Breaks the graph: runs the segment because values are needed."""
        if segment is not self.segment or get_ident() != self._thread:
            raise EngineError(
                "A tensor of a running compiled call was used by another thread or in another call. "
                "Wait for the call to return."
            )
        if reason is None:
            reason = segment.reason(requested)
        if self.owner.fullgraph and not self.for_explain:
            raise CompileError(fullgraph_error(reason, call_site()))
        self.finish(reason, requested)

    @contextmanager
    def suspended(self, reason: BreakReason, requested: str) -> Iterator[None]:
        """Context in which ops run eagerly, after the segment so far."""
        self.demand(self.segment, reason, requested)
        MODES.capture = None
        try:
            yield
        finally:
            MODES.capture = self

    @contextmanager
    def setting_change(self, what: str) -> Iterator[None]:
        """Context for a change of a setting that results depend on."""
        self.demand(self.segment, OPAQUE, what)
        yield
        assert self.segment.start is not None, "it follows a break"
        self.segment.node = self.owner.root_at(self.segment.start[1])

    def on_memory_access(self, tensor: Tensor) -> None:
        """Handles access to the memory of an input tensor."""
        if self.segment.uses(tensor):
            self.demand(self.segment, requested=self.segment.slot_of(tensor))

    def _run_eagerly(
        self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], reason: BreakReason | None = None
    ) -> Any:
        """Runs an op eagerly; with a reason, after the segment so far."""
        if reason is not None:
            self.demand(self.segment, reason, op.name)
            for value in inputs:
                if isinstance(value, Tensor) and not value.is_meta:
                    value._numbers()
        MODES.capture = None
        try:
            return run(op, inputs, statics)
        finally:
            MODES.capture = self


__all__ = ["Capture"]
