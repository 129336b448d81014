"""Runs traced ops one by one, with the kernels, views and writes of eager mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from engine.backend import Device
from engine.compiler.array_memory import peak_bytes
from engine.compiler.atomic_changes import CommitChanges, apply_changes, no_changes, write_change
from engine.compiler.instruction import Instruction, Slot, TraceNode, fill_template, has_scalars, resolve_operand
from engine.compiler.plan_description import PlanDescription, StepDescription
from engine.dtypes import NATIVE_FLOATS
from engine.errors import locate_error
from engine.graph import SourceLocation
from engine.ops.record import Op
from engine.shape import format_shape
from engine.tensors import Storage, Tensor
from engine.tensors.dispatch.in_place_call import write
from engine.tensors.dispatch.kernel_call import as_array, compute
from engine.tensors.dispatch.op_call import compute_promoted


def compute_call(
    op: Op, arrays: Sequence[Any], statics: dict[str, Any], device: Device, mixed: bool
) -> tuple[Any, ...]:
    """The results of an op as arrays."""
    run = compute_promoted if mixed else compute
    found = run(op, list(arrays), statics, device)
    return tuple([as_array(one, device) for one in (found if op.outputs > 1 else (found,))])


def is_mixed(arrays: Sequence[Any]) -> bool:
    """Whether arrays differ in dtype or are not native floats."""
    dtypes = {array.dtype for array in arrays if hasattr(array, "dtype")}
    return len(dtypes) != 1 or next(iter(dtypes)) not in NATIVE_FLOATS


class SequentialExecutor:
    """Runs a trace op by op, without fusion. Arrays are freed after their last use.

    Args:
        note: why there is no plan, for `explain`
    """

    def __init__(self, node: TraceNode, output_slots: tuple[int, ...], note: str = "") -> None:
        self._output_slots, self._note = output_slots, note
        calls = [one.call for one in node.path()]
        last: dict[int, int] = {}
        for index, call in enumerate(calls):
            for slot in (*[one.number for one in call.inputs if isinstance(one, Slot)], *call.outputs):
                last[slot] = index
        needed = set(output_slots)
        self._written = written_slots(calls)
        self._steps = [
            (
                call,
                has_scalars(call.statics),
                [slot for slot, end in last.items() if end == index and slot not in needed],
            )
            for index, call in enumerate(calls)
        ]

    def run(self, externals: dict[int, Any], scalars: list[Any], commit: CommitChanges = no_changes) -> list[Any]:
        """Runs the trace. Returns the arrays in the wanted slots. An exception undoes writes to inputs."""
        saved = [(array, array.copy()) for array in map(externals.get, self._written) if array is not None]
        try:
            values = self._compute(dict(externals), scalars)
            apply_changes([*commit(values), (saved.clear,)])
        except BaseException:
            apply_changes(write_change(array, copy) for array, copy in reversed(saved))
            raise
        return values

    def _compute(self, arrays: dict[int, Any], scalars: list[Any]) -> list[Any]:
        for call, varies, freed in self._steps:
            statics = fill_template(call.statics, scalars) if varies else call.statics
            inputs = [resolve_operand(one, arrays, scalars) for one in call.inputs]
            with note_origin(call.op, call.where):
                if call.in_place:
                    target = Tensor(arrays[call.outputs[0]], Storage(call.device))
                    write(call.op, target, inputs, statics, call.device)
                else:
                    found = compute_call(call.op, inputs, statics, call.device, call.mixed)
                    arrays.update(zip(call.outputs, found, strict=True))
            inputs = found = None  # hold no array longer than needed
            for slot in freed:
                del arrays[slot]
        return [arrays[slot] for slot in self._output_slots]

    def wait(self) -> None:
        """Nothing to wait for."""

    def describe(self) -> PlanDescription:
        """Describes the run for `explain`."""
        steps = [_described(call) for call, _, _ in self._steps]
        peak = peak_bytes((self._created_bytes(call), freed) for call, _, freed in self._steps)
        return PlanDescription("call by call", tuple(steps), peak, self._note)

    def _created_bytes(self, call: Instruction) -> dict[int, int]:
        """Bytes of the arrays that an op creates, by slot, without results of the trace."""
        if call.views or call.in_place:
            return {}
        found = zip(call.outputs, call.forms, strict=True)
        return {slot: prod(form.shape) * form.dtype.itemsize for slot, form in found if slot not in self._output_slots}


def written_slots(calls: Sequence[Instruction]) -> list[int]:
    """The slots whose memory is written, also through views, in the order of the first writes."""
    roots: dict[int, int] = {}
    found: dict[int, None] = {}
    for call in calls:
        if call.views and isinstance(call.inputs[0], Slot):
            roots[call.outputs[0]] = roots.get(call.inputs[0].number, call.inputs[0].number)
        elif call.in_place:
            found[roots.get(call.outputs[0], call.outputs[0])] = None
    return list(found)


def _described(call: Instruction) -> StepDescription:
    makes = tuple(f"{format_shape(form.shape)} {form.dtype}" for form in call.forms)
    name = f"{call.op.name}_" if call.in_place else call.op.name
    return StepDescription(
        (name,), "view" if call.views else "call", (), makes, () if call.where is None else (call.where,)
    )


@contextmanager
def note_origin(op: Op, where: SourceLocation) -> Iterator[None]:
    """Context that adds the op and its line to an error, because Python has moved on since."""
    try:
        yield
    except Exception as error:
        line = "" if where is None else f", called at {where[0]}:{where[1]}"
        error.add_note(f"in {op.name}(){line}, traced by a compiled function")
        locate_error(error, where)
        raise


__all__ = ["SequentialExecutor", "compute_call", "is_mixed", "note_origin", "written_slots"]
