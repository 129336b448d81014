"""Writes the source of a plan's function, in which everything known in advance is a constant."""

from __future__ import annotations

from functools import partial
from operator import setitem
from typing import Any, Protocol

import numpy as np

from engine.backend import CPU, Device, namespace
from engine.compiler.array_memory import copy_in_layout, in_layout
from engine.compiler.instruction import Constant, Scalar, fill_template, has_scalars
from engine.compiler.ir import IRNode, IROutput, IRValue
from engine.compiler.kernels.fused_group import FusedGroup
from engine.compiler.kernels.library import STRIDED
from engine.compiler.plan.buffer_placement import BufferPlacement, writes_into
from engine.compiler.plan.out_variants import out_variant
from engine.ops.linalg.matmul import matmul
from engine.shape import count
from engine.tensors.dispatch.op_call import compute_promoted


class KernelCallWriter(Protocol):
    """Writes the call of a kernel."""

    def __call__(self, emission: PlanSource, number: int, fused: FusedGroup) -> None: ...


class PlanSource:
    """The source of a plan, the objects behind its names, and the step of each line."""

    def __init__(self, decisions: BufferPlacement, memory: Any, launch: KernelCallWriter, device: Device = CPU) -> None:
        self.decisions, self.memory, self.launch, self.device = decisions, memory, launch, device
        self.xp = xp = namespace(device)
        self.names: dict[IRValue, str] = {}
        self.known: dict[str, Any] = {
            "matmul": xp.matmul,
            "empty": xp.empty,
            "copyto": xp.copyto,
            "setitem": setitem,
            "in_order": xp.asarray,  # called with (array, None, "C"); also converts NumPy scalars to arrays
            "filled": fill_template,
            "xp": xp,
            "own": copy_in_layout,
            "own_or_same": in_layout,
        }
        self.lines = ["def run(x, s, m):"]
        self.step_of_line: dict[int, Any] = {}
        self.operands: dict[int, list[str]] = {}
        """Line → operands of its op."""
        self.static: set[IRValue] = set()
        """Values whose array is the same object in every run."""
        self.changes: list[str] = []
        """Writes to inputs at the end, as C functions with arguments."""
        self.held: dict[str, None] = {}
        """Arrays that these refer to by id."""
        self._lay_out()
        self._inputs()
        for number, step in enumerate(decisions.steps):
            before = len(self.lines)
            self._step(number, step)
            for line in range(before + 1, len(self.lines) + 1):
                self.step_of_line[line] = step
                if isinstance(step, IRNode):
                    self.operands[line] = [self._operand(one) for one in step.inputs]
        self._end()
        self.source = "\n".join(self.lines) + "\n"

    def add(self, line: str) -> None:
        self.lines.append("    " + line)

    def is_late(self, number: int) -> bool:
        """Whether a step writes to input memory at the end."""
        return number >= len(self.decisions.steps) - self.decisions.late

    def call(self, number: int, step: FusedGroup, name: str, given: list[str]) -> None:
        """Adds the call of a kernel, at its position or at the end."""
        if self.is_late(number):
            arrays = [value for value in (*step.inputs, *step.outputs) if value not in self.static]
            self.held.update(dict.fromkeys(self.names[value] for value in arrays))
            self.changes.append(f"({', '.join([name, *given])}),  # {step}")
        else:
            self.add(f"{name}({', '.join(given)})  # {step}")

    def empty(self, value: IRValue) -> str:
        """An expression that allocates memory for a value."""
        return f"empty({value.shape!r}, {self._dtype(value)})"

    def keep(self, name: str, thing: Any) -> str:
        """Makes `thing` available under a name."""
        self.known[name] = thing
        return name

    def name(self, value: IRValue) -> str:
        """The variable name of a value."""
        return self.names.setdefault(value, f"v{len(self.names)}")

    # -- memory

    def _lay_out(self) -> None:
        for number, (value, start) in enumerate(self.decisions.layout.offsets.items()):
            array = self.memory[start : start + value.nbytes].view(value.dtype).reshape(value.shape)
            self.names[value] = self.keep(f"b{number}", array)
            self.static.add(value)

    def _inputs(self) -> None:
        for slot, value in self.decisions.graph.inputs.items():
            self.names[value] = f"x{slot}"
        used = set(self.decisions.last) | {self.decisions.graph.inputs[slot] for slot in self.decisions.graph.writes}
        handed = {output.external for output in self.decisions.graph.outputs}
        for slot, value in self.decisions.graph.inputs.items():
            if value in used or slot in handed:
                self.add(f"x{slot} = x[{slot}]")

    # -- steps

    def _step(self, number: int, step: IRNode | FusedGroup) -> None:
        for value in step.outputs:
            self._result(value)
        if isinstance(step, FusedGroup):
            self.launch(self, number, step)
        elif step in self.decisions.routines:
            self._routine(number, step)
        elif step in self.decisions.copies:
            source = step.values[0]
            self.add(f"copyto({self._as(source.shape, self.names[step.out], step.out)}, {self._operand(source)})")
        elif writes_into(step):
            self._writing(number, step)
        elif not step.inputs and not has_scalars(step.statics):  # the same in every run
            array = step.op.kernel(self.xp, **step.statics)
            self.names[step.out] = self.keep(f"b{len(self.known)}", array)
            self.static.add(step.out)
        elif step.op.view and step.values[0] in self.static and not has_scalars(step.statics) and self._static(step):
            pass
        else:
            self._calling(number, step)

    def _result(self, value: IRValue) -> None:
        kind = self.decisions.kind[value]
        if kind == "target":
            self.names[value] = self.names[self.decisions.graph.inputs[self.decisions.target[value]]]
        elif kind == "output":
            new, given = self.empty(value), self.decisions.given.get(value)
            self.add(f"{self.name(value)} = {new if given is None else f'm[{given}] if {given} in m else {new}'}")

    def _dtype(self, value: IRValue) -> str:
        name = np.dtype(value.dtype).name
        return self.keep(name if name != "bool" else "bool_", np.dtype(value.dtype))

    def _static(self, step: IRNode) -> bool:
        """Creates a view of a buffer once; returns False if it is a copy."""
        base = self.known[self.names[step.values[0]]]
        array = step.op.kernel(self.xp, base, **(step.statics or {}))
        if not self.xp.may_share_memory(array, base) and array.size:
            return False
        self.names[step.out] = self.keep(f"b{len(self.known)}", array)
        self.static.add(step.out)
        return True

    def _writing(self, number: int, step: IRNode) -> None:
        given = [self._operand(one) for one in step.inputs]
        out = self.names[step.out]
        if step.op is matmul:
            left, right = step.values
            if len(left.shape) > 2 and len(right.shape) == 2:  # one large product, as in eager mode
                given[0], out = self._as_rows(given[0], left), self._as_rows(out, step.out)
            self.add(f"matmul({', '.join(given)}, out={out})")
            return
        kernel = self.keep(f"{step.op.name}{number}", out_variant(step) or step.op.kernel)
        self.add(f"{kernel}(xp, {', '.join(given)}, out={out}{self._statics(number, step)})")

    def _as_rows(self, name: str, value: IRValue) -> str:
        """`value` as a matrix of its rows."""
        return self._as((count(value.shape[:-1]), value.shape[-1]), name, value)

    def _as(self, shape: tuple[int, ...], name: str, value: IRValue) -> str:
        """`value`, named `name`, in another shape."""
        if value in self.static and self.known[name].flags.c_contiguous:
            return self.keep(f"b{len(self.known)}", self.known[name].reshape(shape))
        return f"{name}.reshape{shape}"

    def _routine(self, number: int, step: IRNode) -> None:
        """Adds the call of a hand-written kernel. Most of them need C-ordered arrays."""
        routine = self.keep(f"{step.op.name}{number}", self.decisions.routines[step])
        given = [self._operand(one) for one in step.inputs]
        for index, one in enumerate(() if step.op in STRIDED else step.inputs):
            if isinstance(one, IRValue) and not (one in self.static and self.known[given[index]].flags.c_contiguous):
                given[index] = f"in_order({given[index]}, None, 'C')"
        changing = self._statics(number, step) if has_scalars(step.statics) else ""
        self.add(f"{routine}({', '.join([*given, *(self.names[value] for value in step.outputs)])}{changing})")

    def _calling(self, number: int, step: IRNode) -> None:
        given = ", ".join(self._operand(one) for one in step.inputs)
        statics = self._statics(number, step)
        if step.mixed:
            op = self.keep(f"{step.op.name}{number}", step.op)
            self.known["promoted"] = partial(_promoted, self.device)
            call = f"promoted({op}, [{given}]{statics})"
        else:
            kernel = self.keep(f"{step.op.name}{number}", step.op.kernel)
            call = f"{kernel}(xp{', ' if given else ''}{given}{statics})"
        names = [self.name(value) for value in step.outputs]
        self.add(f"{', '.join(names)}{',' if step.op.outputs > 1 and len(names) == 1 else ''} = {call}")
        if not step.op.view:
            for name in names:
                self.add(f"{name} = in_order({name}, None, 'C')")

    def _statics(self, number: int, step: IRNode) -> str:
        if not step.statics:
            return ""
        name = self.keep(f"statics{number}", step.statics)
        return f", **filled({name}, s)" if has_scalars(step.statics) else f", **{name}"

    def _operand(self, one: Any) -> str:
        if isinstance(one, IRValue):
            return self.names[one]
        if isinstance(one, Scalar):
            return f"s[{one.number}]"
        assert isinstance(one, Constant)
        return repr(one.value)

    # -- the end

    def _end(self) -> None:
        graph, decisions = self.decisions.graph, self.decisions
        roots: dict[int, str] = {}
        handed: set[IRValue] = set()
        for output in graph.outputs:
            if output.external is not None or output.root in roots:
                continue
            value = output.value
            source = self.names[value]
            fresh = decisions.kind[value] == "fresh" and value not in handed | self.static and not value.is_view
            if decisions.kind[value] == "output":
                roots[output.root] = source
            else:
                name = roots[output.root] = f"r{output.root}"
                form = self.keep(f"form{output.root}", output.form)
                self.add(f"{name} = {'own_or_same' if fresh else 'own'}({source}, {form})")
            handed.add(value)
        late = [(slot, value) for slot, value in graph.writes.items() if decisions.target.get(value) != slot]
        outside = set(graph.inputs.values())
        names = {slot: self.names[value] for slot, value in late}
        for slot, value in late:
            if value.base in outside and len(late) > 1:  # which may be overwritten before this write
                names[slot] = f"w{slot}"
                self.add(f"w{slot} = {self.names[value]}.copy()")
        self.changes += [f"(setitem, x{slot}, ..., {names[slot]})," for slot, _ in late]
        outputs = f"[{', '.join(self._output(output, roots) for output in graph.outputs)}]"
        if not self.changes:
            self.add(f"return {outputs}, [], []")
            return
        self.add(f"return {outputs}, [")
        for change in self.changes:
            self.add(f"    {change}")
        self.add(f"], [{', '.join(self.held)}]")

    def _output(self, output: IROutput, roots: dict[int, str]) -> str:
        text = roots[output.root] if output.external is None else f"x{output.external}"
        for index, (op, statics) in enumerate(output.chain):
            name = f"{op.name}_{output.slot}_{index}"
            given = self.keep(f"{name}_statics", statics or {})
            text = f"{self.keep(name, op.kernel)}(xp, {text}, **{given})"
        return text


def _promoted(device: Device, op: Any, arrays: list[Any], **statics: Any) -> Any:
    return compute_promoted(op, arrays, statics, device)


def aligned(size: int) -> np.ndarray[Any, Any]:
    """Bytes whose address is a multiple of 64."""
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size]


__all__ = ["KernelCallWriter", "PlanSource", "aligned"]
