"""What a plan decides for each step and value before it is written out."""

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
"""Where a value lies: outside; in the plan's own memory; where an op put it; in new memory for the caller; in memory
outside, which it is written to by a step at the end."""


@dataclass
class BufferPlacement:
    """Where every value lies, and which steps read it."""

    graph: IRGraph
    steps: Sequence[PlanStep]
    kind: dict[IRValue, BufferKind] = field(default_factory=dict)
    target: dict[IRValue, int] = field(default_factory=dict)
    """Value → slot outside that it is computed right into."""
    made_at: dict[IRValue, int] = field(default_factory=dict)
    last: dict[IRValue, int] = field(default_factory=dict)
    """The last step that reads a value or a view of it; the number of steps for what is needed at the end."""
    routines: dict[IRNode, Routine] = field(default_factory=dict)
    """What computes nodes in the place of NumPy."""
    strides: dict[IRValue, Strides] = field(default_factory=dict)
    late: int = 0
    """How many steps write to memory outside, together with what else a run changes. They are the last ones."""
    copies: set[IRNode] = field(default_factory=set)
    """Nodes that copy what might have been looked at as it is."""

    @cached_property
    def given(self) -> dict[IRValue, int]:
        """Value that is one of the outputs as it is → its place among them; a run may be given memory for it."""
        outputs = self.graph.outputs
        alone = Counter(output.root for output in outputs)
        return {
            output.value: index
            for index, output in enumerate(outputs)
            if self.kind[output.value] == "output" and alone[output.root] == 1 and not output.chain
        }

    @cached_property
    def layout(self) -> BufferLayout[IRValue]:
        """Where in the plan's memory the values lie that nobody sees; asked for once all places are final."""
        values = [value for value, kind in self.kind.items() if kind == "buffer"]
        made, last = self.made_at, self.last
        return allocate_buffers([Lifetime(one, one.nbytes, made[one], last.get(one, made[one])) for one in values])


def place_buffers(graph: IRGraph, steps: Sequence[PlanStep]) -> BufferPlacement:
    """Chooses a place for each value of a graph."""
    found = BufferPlacement(graph, steps)
    found.strides, copies = value_strides(graph, steps)
    found.copies = {node for node in copies if node.out.device is CPU and node.op is reshape}
    for value in graph.inputs.values():
        found.kind[value], found.made_at[value] = "input", -1
    for step in steps:
        if isinstance(step, IRNode) and (routine := routine_of(step)) is not None:
            found.routines[step] = routine
        for value in step.outputs:
            is_given = step in found.routines or step in found.copies or writes_into(step)
            found.kind[value] = "buffer" if is_given else "fresh"
    _find_lives(found)
    _place_outputs(found)
    _place_targets(found)
    _put_late(found)
    return found


def reads_of(step: PlanStep) -> Sequence[IRValue]:
    return step.inputs if isinstance(step, FusedGroup) else step.values


def writes_into(step: PlanStep) -> bool:
    """Whether a step can put its result into memory that it is given."""
    if isinstance(step, FusedGroup):
        return True
    if step.out.device is CPU and out_variant(step) is not None:
        return True
    if step.mixed or len(step.outputs) != 1:
        return False
    if step.op is matmul:
        return all(len(value.shape) > 1 and value.dtype in NATIVE_FLOATS for value in step.values)
    if step.out.device is not CPU:  # CuPy's functions do not all take `out`
        return False
    return step.op.takes_out and step.op.kind == "elementwise" and step.out.dtype in NATIVE_FLOATS


def _find_lives(found: BufferPlacement) -> None:
    last = found.last = _last_reads(found) | dict.fromkeys(found.graph.results(), len(found.steps))
    for number, step in enumerate(found.steps):
        found.made_at.update(dict.fromkeys(step.outputs, number))
    for step in reversed(found.steps):  # whoever reads a view reads what it is a view of
        if isinstance(step, IRNode) and step.op.view:
            for value in reads_of(step):
                last[value] = max(last[value], last.get(step.out, -1))


def _last_reads(found: BufferPlacement) -> dict[IRValue, int]:
    """Value → the last step that reads it."""
    return {value: number for number, step in enumerate(found.steps) for value in reads_of(step)}


def _place_outputs(found: BufferPlacement) -> None:
    """Values that are handed out whole, and only once, are computed right into memory for the caller."""
    roots: dict[IRValue, set[int]] = {}
    for output in found.graph.outputs:
        if output.external is None:
            roots.setdefault(output.value, set()).add(output.root)
    for output in found.graph.outputs:
        value = output.value
        alone = output.external is None and len(roots[value]) == 1
        if alone and found.kind[value] == "buffer" and output.form.flags.c_contiguous:
            found.kind[value] = "output"


def _place_targets(found: BufferPlacement) -> None:
    """Values are computed right into the memory outside where nobody reads any more what is there before."""
    for slot, value in found.graph.writes.items():
        old, form = found.graph.inputs[slot], found.graph.forms[slot]
        if found.kind[value] != "buffer" or not form.flags.c_contiguous or not form.flags.writeable:
            continue
        made = found.made_at[value]
        read = found.last.get(old, -1)
        if read < made or (read == made and _reads_in_step(found.steps[made], old)):
            found.kind[value], found.target[value] = "target", slot


def _put_late(found: BufferPlacement) -> None:
    """Moves groups that write to memory outside to the end. What others read is copied there instead."""
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
    found.steps, found.late = [*others, *late], len(late)
    _find_lives(found)


def _reads_in_step(step: PlanStep, old: IRValue) -> bool:
    """Whether a step reads each element of `old` before it writes the element of its result that lies there."""
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
