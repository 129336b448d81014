"""Decides where the values of a plan are stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from engine.backend import CPU
from engine.compiler.ir import IRGraph, IRNode, IRValue
from engine.compiler.kernels.fused_group import FusedGroup
from engine.compiler.kernels.library import Routine, routine_of
from engine.compiler.plan.buffer_allocation import BufferLayout, Lifetime, allocate_buffers
from engine.compiler.plan.fusion import PlanStep
from engine.compiler.plan.out_variants import out_variant
from engine.compiler.plan.value_strides import Strides, value_strides
from engine.dtypes import NATIVE_FLOATS
from engine.ops.linalg.matmul import matmul
from engine.ops.movement.primitives import reshape

BufferKind = Literal["input", "buffer", "fresh", "output", "target"]
"""Where a value is stored: "input" memory; "buffer", the plan's memory; "fresh" memory that an op allocates; "output",
new memory for the caller; "target", input memory that a step at the end writes.
"""


@dataclass
class BufferPlacement:
    """Storage of all values, and the steps that read them."""

    graph: IRGraph
    steps: Sequence[PlanStep]
    kind: dict[IRValue, BufferKind] = field(default_factory=dict)
    target: dict[IRValue, int] = field(default_factory=dict)
    """Value → input slot whose memory it is computed into."""
    made_at: dict[IRValue, int] = field(default_factory=dict)
    last: dict[IRValue, int] = field(default_factory=dict)
    """Value → last step that reads it or a view of it; the number of steps if it is needed at the end."""
    routines: dict[IRNode, Routine] = field(default_factory=dict)
    """Nodes that hand-written kernels compute."""
    strides: dict[IRValue, Strides] = field(default_factory=dict)
    late_steps: int = 0
    """Number of steps at the end that write to input memory, together with the other changes of a run."""
    copies: set[IRNode] = field(default_factory=set)
    """Reshapes that must copy."""

    @cached_property
    def caller_buffers(self) -> dict[IRValue, int]:
        """Value that is an output → its index among the outputs. A run may get memory for it."""
        outputs = self.graph.outputs
        users = Counter(output.root for output in outputs)
        return {
            output.value: index
            for index, output in enumerate(outputs)
            if self.kind[output.value] == "output" and users[output.root] == 1 and not output.chain
        }

    @cached_property
    def layout(self) -> BufferLayout[IRValue]:
        """Offsets of the buffers; valid after all storage is decided."""
        values = [value for value, kind in self.kind.items() if kind == "buffer"]
        made, last = self.made_at, self.last
        return allocate_buffers([Lifetime(one, one.nbytes, made[one], last.get(one, made[one])) for one in values])


def place_buffers(graph: IRGraph, steps: Sequence[PlanStep]) -> BufferPlacement:
    """Decides the storage of each value of a graph."""
    found = BufferPlacement(graph, steps)
    found.strides, copies = value_strides(graph, steps)
    found.copies = {node for node in copies if node.out.device is CPU and node.op is reshape}
    for value in graph.inputs.values():
        found.kind[value], found.made_at[value] = "input", -1
    for step in steps:
        if isinstance(step, IRNode) and (routine := routine_of(step)) is not None:
            found.routines[step] = routine
        for value in step.outputs:
            is_planned = step in found.routines or step in found.copies or writes_into(step)
            found.kind[value] = "buffer" if is_planned else "fresh"
    _find_lifetimes(found)
    _place_outputs(found)
    _place_targets(found)
    _move_writes_last(found)
    return found


def reads_of(step: PlanStep) -> Sequence[IRValue]:
    return step.inputs if isinstance(step, FusedGroup) else step.values


def writes_into(step: PlanStep) -> bool:
    """Whether a step can write its result to given memory."""
    if isinstance(step, FusedGroup):
        return True
    if step.out.device is CPU and out_variant(step) is not None:
        return True
    if step.mixed or len(step.outputs) != 1:
        return False
    if step.op is matmul:
        return all(len(value.shape) > 1 and value.dtype in NATIVE_FLOATS for value in step.values)
    if step.out.device is not CPU:  # not all CuPy functions support `out`
        return False
    return step.op.takes_out and step.op.kind == "elementwise" and step.out.dtype in NATIVE_FLOATS


def _find_lifetimes(found: BufferPlacement) -> None:
    last = found.last = _last_reads(found) | dict.fromkeys(found.graph.results(), len(found.steps))
    for number, step in enumerate(found.steps):
        found.made_at.update(dict.fromkeys(step.outputs, number))
    for step in reversed(found.steps):  # reading a view reads its base
        if isinstance(step, IRNode) and step.op.view:
            for value in reads_of(step):
                last[value] = max(last[value], last.get(step.out, -1))


def _last_reads(found: BufferPlacement) -> dict[IRValue, int]:
    """Value → the last step that reads it."""
    return {value: number for number, step in enumerate(found.steps) for value in reads_of(step)}


def _place_outputs(found: BufferPlacement) -> None:
    """Computes outputs that are returned once and completely directly into memory for the caller."""
    roots: dict[IRValue, set[int]] = {}
    for output in found.graph.outputs:
        if output.external is None:
            roots.setdefault(output.value, set()).add(output.root)
    for output in found.graph.outputs:
        value = output.value
        is_sole = output.external is None and len(roots[value]) == 1
        if is_sole and found.kind[value] == "buffer" and output.form.flags.c_contiguous:
            found.kind[value] = "output"


def _place_targets(found: BufferPlacement) -> None:
    """Computes values directly into input memory if its old content is no longer read."""
    for slot, value in found.graph.writes.items():
        old, form = found.graph.inputs[slot], found.graph.forms[slot]
        if found.kind[value] != "buffer" or not form.flags.c_contiguous or not form.flags.writeable:
            continue
        made = found.made_at[value]
        read = found.last.get(old, -1)
        if read < made or (read == made and _reads_in_step(found.steps[made], old)):
            found.kind[value], found.target[value] = "target", slot


def _move_writes_last(found: BufferPlacement) -> None:
    """Moves groups that write to input memory to the end. Results that other steps read are copied there instead."""
    results = {one.value for one in found.graph.outputs if one.external is None}
    read, late, others = _last_reads(found), list[PlanStep](), list[PlanStep]()
    for step in found.steps:
        targets = [value for value in step.outputs if found.kind[value] == "target"]
        is_read = any(one in read or (one in results and found.kind[one] != "output") for one in step.outputs)
        if targets and isinstance(step, FusedGroup) and not is_read:
            late.append(step)
            continue
        others.append(step)
        for value in targets:
            found.kind[value] = "buffer"
            del found.target[value]
    found.steps, found.late_steps = [*others, *late], len(late)
    _find_lifetimes(found)


def _reads_in_step(step: PlanStep, old: IRValue) -> bool:
    """Whether a step reads each element of `old` before it writes the element of the result at the same position."""
    if any(value is not old and value.base is old for value in reads_of(step)):
        return False
    depending = {old}
    for node in step.nodes if isinstance(step, FusedGroup) else (step,):
        if depending.isdisjoint(node.values):
            continue
        if node.op.kind != "elementwise" or node.out.shape != old.shape:
            return False
        depending.update(node.outputs)
    return True


__all__ = ["BufferKind", "BufferPlacement", "place_buffers", "reads_of", "writes_into"]
