"""Records ops in the trie of traces: finds the node of an op, or runs the op and adds a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from engine.backend import Device
from engine.compiler.break_reasons import DATA_DEPENDENT, LIMIT, OPAQUE, BreakReason
from engine.compiler.compile_report import CompileReport
from engine.compiler.instruction import TraceNode, UnhashableArgument, make_template
from engine.compiler.instruction_builder import build_instruction, has_inferable_shape
from engine.compiler.recorded_segment import RecordedSegment
from engine.compiler.sequential_executor import SequentialExecutor, compute_call, is_mixed
from engine.compiler.undo_log import UndoLog
from engine.graph import SourceLocation
from engine.observe import call_origin
from engine.ops.record import Op
from engine.tensors import Storage, Tensor
from engine.tensors.dispatch.in_place_call import write
from engine.tensors.dispatch.op_call import number, view_of

MAX_BRANCHES = 64
"""Branches after one node of the trie of traces; ops on further branches run eagerly."""
MAX_RECORDED_OPS = 50_000
"""Ops in all traces of a function together."""


class CaptureOwner(Protocol):
    """The compiled function that is called: its traces, plans and settings."""

    report: CompileReport
    recorded: int
    may_replay: bool
    exact: bool
    fullgraph: bool

    @property
    def replays(self) -> Any: ...

    def root_at(self, where: SourceLocation) -> TraceNode: ...

    def plan(self, node: TraceNode, output_slots: tuple[int, ...]) -> Any: ...


class OpRecorder:
    """Records the ops of one call of a compiled function in the current segment.

    Args:
        for_explain: keep the calling line of each op
    """

    def __init__(self, owner: CaptureOwner, segment: RecordedSegment, *, for_explain: bool) -> None:
        self.owner, self.segment, self.for_explain = owner, segment, for_explain
        self.number = owner.report.begin() + owner.replays.count
        """Number of the call, from 1."""
        self.undo = UndoLog()

    def _next(
        self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], device: Device, *, in_place: bool
    ) -> tuple[TraceNode, Any] | BreakReason:
        """Moves to the node of an op in the trie. Returns the node, and the results if the op ran immediately."""
        segment = self.segment
        scalars, known_inputs = len(segment.scalars), len(segment.input_specs)
        if any(
            isinstance(value, np.generic) for value in inputs
        ):  # NumPy scalars count as Python numbers, not as arrays
            inputs = [number(op, value) if isinstance(value, np.generic) else value for value in inputs]
        try:
            return self._advance(op, inputs, statics, device, in_place=in_place)
        except BaseException:
            segment.forget(scalars, known_inputs)
            raise

    def _advance(
        self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], device: Device, *, in_place: bool
    ) -> tuple[TraceNode, Any] | BreakReason:
        segment = self.segment
        scalar, known_inputs = len(segment.scalars), len(segment.input_specs)
        try:
            parts, fixed = segment.parts(op, inputs, statics)
        except UnhashableArgument:
            return OPAQUE
        key = (op, in_place, fixed, *parts) if parts else (op, in_place, fixed, device)
        node = segment.node.children.get(key)
        if isinstance(node, BreakReason):
            return node
        if node is not None and segment.deferring:
            if self.for_explain:
                segment.origins.append(call_origin())
            segment.node = node
            return node, None
        if node is None and (len(segment.node.children) >= MAX_BRANCHES or self.owner.recorded >= MAX_RECORDED_OPS):
            return LIMIT
        was_known = segment.deferring
        if was_known:
            self._begin_recording(segment)
        arrays = [segment.array(v) if isinstance(v, Tensor) else v for v in inputs]
        if in_place:
            values = None
            if segment.uses(inputs[0]):
                self.undo.save(arrays[0])
            write(op, Tensor(arrays[0], inputs[0]._storage), list(arrays), statics, device)
        else:
            values = compute_call(op, arrays, statics, device, is_mixed(arrays))
        if node is None:
            found = tuple(segment.input_specs[known_inputs:])
            slots = segment.operands(inputs, parts, scalar, found)
            counter = [scalar + sum(isinstance(one, str) for one in parts)]
            fixed = statics if statics is op.defaults else make_template(statics, counter)
            call = build_instruction(op, slots, fixed, device, arrays, values, segment.count)
            if not in_place and not has_inferable_shape(op, arrays, statics, call.forms):
                segment.node.children[key] = DATA_DEPENDENT
                return DATA_DEPENDENT
            # Another thread may have added the same node; only one of them is used.
            node = segment.node.children.setdefault(key, TraceNode(segment.node, call, found))
            if isinstance(node, BreakReason):
                return node
            self.owner.recorded += 1
            if was_known:
                self.owner.report.note_new(self.number, segment.start, node)
        if self.for_explain:
            segment.origins.append(call_origin())
        segment.node = node
        return node, values

    def _outputs(
        self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], node: TraceNode, values: Sequence[Any] | None
    ) -> list[Tensor]:
        segment, instruction = self.segment, node.call
        if values is None and node.single is not None:
            slot, form, device = node.single
            out = Tensor(None, Storage(device))
            segment.hand_out(out, slot, form)
            segment.count += 1
            return [out]
        outs: list[Tensor] = []
        for index, (slot, form) in enumerate(node.outs):
            if instruction.views:
                out = view_of(op, inputs[0], statics, None)
            else:
                out = Tensor(None, Storage(instruction.device))
            segment.hand_out(out, slot, form, None if values is None else values[index])
            outs.append(out)
        segment.count += len(outs)
        return outs

    def _begin_recording(self, segment: RecordedSegment) -> None:
        """Leaves the known traces: runs the deferred ops one by one, as the following ones will run."""
        self.undo.save_written(segment)
        if segment.node.depth:
            pending = segment.pending()
            plan = SequentialExecutor(segment.node, tuple([one.slot for one in pending]))
            values = plan.run(segment.externals, segment.scalars)
            for deferred, value in zip(pending, values, strict=True):
                deferred.value = value
        segment.deferring = False


__all__ = ["CaptureOwner", "OpRecorder"]
