"""Records the ops of a compiled function in place of running them, and runs them when their numbers are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from engine.backend import META, Device, MetaArray
from engine.compiler.instruction import FLOAT, Instruction, Trie, Unhashable, frozen, template
from engine.compiler.reasons import (
    DATA_DEPENDENT,
    DEVICE,
    EXPOSED,
    ITERATION,
    LIMIT,
    OBSERVED,
    OPAQUE,
    Reason,
    reason_of_frame,
)
from engine.compiler.replay import Drawn, Stepped
from engine.compiler.report import Ran
from engine.compiler.rewrite import rewrite
from engine.compiler.segment import Segment
from engine.compiler.sequential import compute_call, is_mixed
from engine.deferred import Deferred, Form, adopt
from engine.dispatch import run
from engine.dispatch.in_place import write
from engine.dispatch.kernels import infer
from engine.dispatch.recording import record
from engine.dispatch.run import number, shares_memory, view_of
from engine.dtypes import NUMBERS, from_numpy
from engine.errors import CompileError, EngineError
from engine.graph import Place
from engine.modes import MODES
from engine.observe import call_site
from engine.ops.elementwise.update import clone
from engine.ops.record import Op
from engine.random import State
from engine.shape import Dim, Spec
from engine.tensor import Storage, Tensor

if TYPE_CHECKING:
    from engine.compiler.function import Compiled


def _kernel_fill(xp: Any, shape: tuple[int, ...], dtype: object, value: object) -> Any:
    """One value in a shape and dtype."""
    return xp.full(shape, value, dtype)


_kernel_fill.__name__ = "fill"
FILL = Op(_kernel_fill, "other", method=False)
FILL.shape(lambda shape, dtype, value: Spec(tuple(shape), from_numpy(dtype)))

MOST_PATHS = 64
"""Continuations of one place in the known recordings; what comes after them runs eagerly."""
MOST_CALLS = 50_000
"""Calls in all recordings of a function together."""


class Capture:
    """One call of a compiled function, in its thread. `engine.dispatch` hands it every op."""

    def __init__(self, owner: Compiled, *, traced: bool = False) -> None:
        self.owner = owner
        self.traced = traced
        """Somebody wants to know of each op where this call, not the one that was recorded, calls it."""
        self.ran: list[Ran] = []
        """The segments so far."""
        self.number = owner.report.begin() + owner.replays.count
        self.segment = Segment(self, owner.root, None)
        self.events: list[Drawn | Stepped] = []
        """What the engine's own objects did beside ops."""
        self.whole: Segment | None = None
        """The recording, if there was one alone and a plan ran it."""
        self._thread = get_ident()
        self._optimizing = False

    # -- ops

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> Any:
        """A call of an op that makes new tensors, or views.

        What is written out here is the commonest call, which is known at this place and uses what is known: it takes
        a third of the time of `_call_any`.
        """
        segment = self.segment
        if not segment.deferring or len(MODES.having_say) > 1 or self.traced:
            return self._call_any(op, inputs, statics)
        wants, numbers = False, []
        key: list[Any] = [op, False, None]
        for value in inputs:
            if isinstance(value, Tensor):
                array = value._array
                view = value._view
                if view is not None and value._base._node is not view[1]:  # pyright: ignore[reportOptionalMemberAccess]
                    return self._call_any(op, inputs, statics)
                if type(array) is Deferred and array.segment is segment:
                    key.append(array.slot)
                else:
                    slot = segment.known_slot(array)
                    if slot is None:
                        return self._call_any(op, inputs, statics)
                    key.append(slot)
                wants = wants or value._requires_grad
            elif type(value) is float:
                key.append(FLOAT)
                numbers.append(value)
            else:
                return self._call_any(op, inputs, statics)
        if statics is not op.defaults:
            try:
                key[2] = frozen(statics, numbers)
            except Unhashable:
                return self._call_any(op, inputs, statics)
        node = segment.node.children.get(tuple(key))
        if type(node) is not Trie:
            return self._call_any(op, inputs, statics)
        segment.node = node
        if numbers:
            segment.scalars += numbers
        outs = self._outputs(op, inputs, statics, node, None)
        if wants and MODES.grad and op.rules:
            record(op, inputs, statics, outs, node.call.where)
            _adopt_saved(outs)
        return outs[0] if op.outputs == 1 else tuple(outs)

    def _call_any(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> Any:
        """`call` for whatever there is."""
        if MODES.autocast is not None:
            inputs = MODES.autocast.prepare(op, inputs)
        wants, device = False, None
        for value in inputs:
            if isinstance(value, Tensor):
                if value._view is not None:
                    value._refresh()
                wants |= value._requires_grad
                place = value._storage.device
                if device is None:
                    device = place
                    if op.view and value._storage.is_exposed:
                        return self._aside(op, inputs, statics)
                elif place is not device:
                    return self._aside(op, inputs, statics, DEVICE)
        if device is META or device is None:
            return self._aside(op, inputs, statics)
        if MODES.observer is not None:
            return self._aside(op, inputs, statics, OBSERVED)
        found = self._next(op, inputs, statics, device, in_place=False)
        if isinstance(found, Reason):
            return self._aside(op, inputs, statics, found)
        node, values = found
        outs = self._outputs(op, inputs, statics, node, values)
        if wants and MODES.grad and op.rules:
            record(op, inputs, statics, outs, node.call.where)
            _adopt_saved(outs)
        return outs[0] if op.outputs == 1 else tuple(outs)

    def write(self, op: Op, target: Tensor, inputs: Sequence[Any], statics: dict[str, Any]) -> None:
        """Writes an op's result into the memory of `target`, the first input; versions and history are the caller's."""
        reason = EXPOSED if target._storage.is_exposed else None if MODES.observer is None else OBSERVED
        found = reason or self._next(op, inputs, statics, target._storage.device, in_place=True)
        if isinstance(found, Reason):
            self.demand(self.segment, found, op.name)
            arrays = [v._numbers() if isinstance(v, Tensor) else v for v in inputs]
            write(op, target, arrays, statics, target._storage.device)
        elif type(target._array) is not Deferred:  # nobody may look at it before it is written
            segment, array = self.segment, target._array
            slot = segment.part(target)
            segment.hand_out(target, slot, Form.of(array), None if segment.deferring else array)

    def fill(self, shape: tuple[int, ...], dtype: Any, value: Any, device: Device) -> Tensor | None:
        """A tensor of one value; None where it is not recorded."""
        if self._optimizing:  # what an optimizer begins with is from outside, as it is in all later steps
            return None
        if MODES.inference or MODES.observer is not None or any(isinstance(size, Dim) for size in shape):
            return None
        statics = {"shape": shape, "dtype": dtype, "value": value}
        found = self._next(FILL, (), statics, device, in_place=False)
        if isinstance(found, Reason):
            return None
        return self._outputs(FILL, (), statics, *found)[0]

    def reserved(self, generator: Any, words: int, state: State) -> None:
        """A generator has given `state` away, for `words` words."""
        self.events.append(Drawn(generator, words, state))

    @contextmanager
    def stepping(self, optimizer: Any, params: list[tuple[Tensor, dict[str, Any]]]) -> Iterator[None]:
        """Inside, `optimizer` changes those of its parameters, each with the options of its group."""
        segment = self.segment
        event = Stepped(optimizer, len(segment.scalars), params=params)
        self._optimizing = True
        try:
            yield
        finally:
            self._optimizing = False
        if segment is self.segment:
            event.end = len(segment.scalars)
            self.events.append(event)

    def copy(self, tensor: Tensor) -> Tensor:
        """A copy without history."""
        return self.call(clone, (Tensor(tensor._array, tensor._storage),), clone.defaults)

    def elements(self, tensor: Tensor) -> Iterator[Tensor]:
        """The parts of a tensor along its first dimension, for somebody who goes through them."""
        for index in range(len(tensor)):
            part = tensor[index]
            if type(part._array) is Deferred:
                self.segment.elements.add(part._array.slot)
            yield part

    def _next(
        self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], device: Device, *, in_place: bool
    ) -> tuple[Trie, Any] | Reason:
        """Goes on by a call: to a place among the recordings, and its results where they were computed at once."""
        segment = self.segment
        scalars, met = len(segment.scalars), len(segment.met)
        if any(isinstance(value, np.generic) for value in inputs):  # as good as Python's, not arrays
            inputs = [number(op, value) if isinstance(value, np.generic) else value for value in inputs]
        try:
            return self._advance(op, inputs, statics, device, in_place=in_place)
        except BaseException:
            segment.forget(scalars, met)
            raise

    def _advance(
        self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], device: Device, *, in_place: bool
    ) -> tuple[Trie, Any] | Reason:
        segment = self.segment
        scalars, part = segment.scalars, segment.part
        scalar, met = len(scalars), len(segment.met)
        try:
            parts = [
                part(v)
                if isinstance(v, Tensor)
                else frozen(v if type(v) in NUMBERS and op.takes_numbers else number(op, v), scalars)
                for v in inputs
            ]
            fixed = None if statics is op.defaults else frozen(statics, scalars)
        except Unhashable:
            return OPAQUE
        key = (op, in_place, fixed, *parts) if parts else (op, in_place, fixed, device)
        node = segment.node.children.get(key)
        if isinstance(node, Reason):
            return node
        if node is not None and segment.deferring:
            if self.traced:
                segment.origins.append(_origin())
            segment.node = node
            return node, None
        if node is None and (len(segment.node.children) >= MOST_PATHS or self.owner.recorded >= MOST_CALLS):
            return LIMIT
        was_known = segment.deferring
        if was_known:
            self._run(segment)
            segment.deferring = False
        arrays = [segment.array(v) if isinstance(v, Tensor) else v for v in inputs]
        if in_place:
            values = None
            write(op, Tensor(arrays[0], inputs[0]._storage), list(arrays), statics, device)
        else:
            values = compute_call(op, arrays, statics, device, is_mixed(arrays))
        if node is None:
            found = tuple(segment.met[met:])
            slots = segment.inputs(inputs, parts, scalar, found)
            place = [scalar + sum(isinstance(one, str) for one in parts)]
            fixed = statics if statics is op.defaults else template(statics, place)
            call = self._instruction(op, slots, fixed, device, arrays, values)
            if not in_place and not _is_foreseeable(op, arrays, statics, call.forms):
                segment.node.children[key] = DATA_DEPENDENT
                return DATA_DEPENDENT
            # Another thread may have recorded the same call meanwhile; there is to be one place for it.
            node = segment.node.children.setdefault(key, Trie(segment.node, call, found))
            if isinstance(node, Reason):
                return node
            self.owner.recorded += 1
            if was_known:
                self.owner.report.note_new(self.number, segment.start, node)
        if self.traced:
            segment.origins.append(_origin())
        segment.node = node
        return node, values

    def _instruction(
        self,
        op: Op,
        slots: tuple[Any, ...],
        statics: dict[str, Any],
        device: Device,
        arrays: Sequence[Any],
        values: Sequence[Any] | None,
    ) -> Instruction:
        mixed, (where, backward) = is_mixed(arrays), _origin()
        if values is None:
            return Instruction(op, slots, statics, (slots[0].number,), (), False, True, mixed, device, where, backward)
        outputs = tuple(range(self.segment.count, self.segment.count + len(values)))
        views = op.view and shares_memory(values[0], arrays[0])
        forms = tuple(map(Form.of, values))
        return Instruction(op, slots, statics, outputs, forms, views, False, mixed, device, where, backward)

    def _outputs(
        self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], node: Trie, values: Sequence[Any] | None
    ) -> list[Tensor]:
        segment, instruction = self.segment, node.call
        if values is None and not instruction.views and len(node.outs) == 1:
            slot, form = node.outs[0]
            out = Tensor(None, Storage(instruction.device))
            segment.hand_out(out, slot, form)
            segment.count += 1
            return [out]
        outs: list[Tensor] = []
        for place, (slot, form) in enumerate(node.outs):
            if instruction.views:
                out = view_of(op, inputs[0], statics, None)
            else:
                out = Tensor(None, Storage(instruction.device))
            segment.hand_out(out, slot, form, None if values is None else values[place])
            outs.append(out)
        segment.count += len(outs)
        return outs

    # -- running

    def _run(self, segment: Segment) -> None:
        """Computes what was deferred, as far as somebody holds it, and does what was to be written."""
        if not segment.node.depth:
            return
        wanted: list[Deferred] = []
        for deferred in segment.alive():
            array = segment.externals.get(deferred.slot)
            if array is None:
                wanted.append(deferred)
            else:  # that of a tensor from outside, which was written to
                deferred.value = array
        plan = self.owner.plan(segment.node, tuple([deferred.slot for deferred in wanted]))
        began = perf_counter()
        try:
            values = plan.run(segment.externals, segment.scalars)
        except BaseException as error:
            segment.fail(error)
            self.segment = Segment(self, self.owner.root, None)
            raise
        segment.plan, segment.seconds = plan, perf_counter() - began
        if self.owner.fullgraph:
            segment.owners = [[t for ref in one.owners if (t := ref()) is not None] for one in wanted]
        for deferred, value in zip(wanted, values, strict=True):
            deferred.value = value

    def finish(self, reason: Reason | None = None, asked: int | str | None = None) -> None:
        """Ends the recording: everything that somebody holds is computed.

        Args:
            reason: of the graph break that this is; None at the end of the function
            asked: the slot whose numbers were asked for, or the op that cannot be recorded
        """
        segment, began, where = self.segment, perf_counter(), None if reason is None else call_site()
        node, known, report = segment.node, segment.deferring, self.owner.report
        if known:
            self._run(segment)
        if not node.runs or segment.start is not None:
            report.note_end(self.number, segment.start, node, known=known)
        node.runs += 1
        is_whole = self.owner.fullgraph and known and segment.start is None and segment.plan is not None
        self.whole = segment if is_whole else None
        segment.settle()
        self.segment = Segment(self, self.owner.root_at(where), (id(node), where))
        cost, op = perf_counter() - began, None
        if reason is not None:
            op = report.note_break(reason, where, node, asked, cost)
        origins = tuple(segment.origins)
        self.ran.append(Ran(node, known, segment.plan, segment.seconds, reason, where, op, cost, origins))

    def close(self) -> None:
        """The call is over. Without this, its arrays would be kept until Python looks for cycles."""
        self.segment.settle()

    def demand(self, segment: Segment, reason: Reason | None = None, asked: int | str | None = None) -> None:
        """A graph break: somebody needs numbers."""
        if segment is not self.segment or get_ident() != self._thread:
            raise EngineError(
                "a tensor of a compiled call was used by another thread, or in another call, before that call was "
                "over. Wait for the call to return."
            )
        if reason is None:
            reason = ITERATION if asked in segment.elements else reason_of_frame()
        if self.owner.fullgraph and not self.traced:
            self._refuse(reason)
        self.finish(reason, asked)

    @contextmanager
    def suspended(self, reason: Reason, asked: str) -> Iterator[None]:
        """Inside, ops run eagerly, after all that was recorded before."""
        self.demand(self.segment, reason, asked)
        MODES.capture = None
        try:
            yield
        finally:
            MODES.capture = self

    def reached(self, tensor: Tensor) -> None:
        """Somebody looks at the memory of a tensor from outside."""
        if self.segment.uses(tensor):
            self.demand(self.segment, asked=self.segment.slot_of(tensor))

    def _refuse(self, reason: Reason) -> NoReturn:
        where = call_site()
        place = "" if where is None else f" at {where[0]}:{where[1]}"
        raise CompileError(
            f"compile(fullgraph=True): a graph break{place}, because {reason.what}. {rewrite(reason, where)}"
        )

    def _aside(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], reason: Reason | None = None) -> Any:
        """Runs a call eagerly; if for a reason, after all that was recorded before it."""
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


def _adopt_saved(outs: Sequence[Tensor]) -> None:
    """Has the tensors that an autograd node keeps of its own results get their arrays as well."""
    node = outs[0]._node
    for key, (tensor, version) in getattr(node, "saved", {}).items():
        if key < 0 and version is not None:
            adopt(tensor)


def _origin() -> tuple[Place, bool]:
    """The line that calls an op, or whose gradient is computed; and whether a backward pass is under way."""
    walk = MODES.walk
    if walk is None:
        return call_site(), False
    return (None if walk.node is None else walk.node.where) or call_site(), True


def _is_foreseeable(op: Op, arrays: Sequence[Any], statics: dict[str, Any], forms: Sequence[Form]) -> bool:
    """Whether the shapes of the results follow from those of the inputs, whatever the numbers in them."""
    specs = [MetaArray(tuple(a.shape), a.dtype) if hasattr(a, "dtype") else a for a in arrays]
    try:
        found = infer(op, specs, statics)
    except Exception:  # noqa: BLE001 - a rule says no in many ways, and the kernel has already run
        return False
    found = found if isinstance(found, tuple) else (found,)
    return [tuple(one.shape) for one in found] == [form.shape for form in forms]


__all__ = ["Capture"]
