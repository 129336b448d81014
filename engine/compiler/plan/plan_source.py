"""Writes the source of a plan's function, in which everything known in advance is a constant."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import setitem
from typing import Any, Literal, Protocol, TypeAlias

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
from engine.ops.matrix_products import is_undivided, matrix_product
from engine.shape import count
from engine.tensors.dispatch.op_call import compute_promoted

PlanPart: TypeAlias = int | Literal["start", "results", "commit", "writes"]
"""What a measured interval of a run does: a step of the plan, or nothing before the first one ("start"), copies of
results ("results"), the return from the function ("commit"), and writes to inputs ("writes")."""


class KernelCallWriter(Protocol):
    """Writes the call of a kernel."""

    def __call__(self, plan_source: PlanSource, number: int, fused: FusedGroup) -> None: ...


class PlanSource:
    """The source of a plan, the objects behind its names, and the step of each line."""

    def __init__(
        self,
        placement: BufferPlacement,
        memory: Any,
        launch: KernelCallWriter,
        device: Device = CPU,
        stamp: Callable[[], Any] | None = None,
    ) -> None:
        self.placement, self.memory, self.launch, self.device = placement, memory, launch, device
        self.xp = xp = namespace(device)
        self.names: dict[IRValue, str] = {}
        self.namespace: dict[str, Any] = {
            "matmul": xp.matmul,
            "product": partial(matrix_product, xp),
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
        self.kept_alive: dict[str, None] = {}
        """Arrays that these refer to by id."""
        self._stamp = stamp
        self.stamps: list[PlanPart] = []
        """What each call of `stamp` ends, in the order of the calls."""
        self._final_stamps: list[PlanPart] = []
        self._add_stamp("start")
        self._add_buffers()
        self._add_inputs()
        for number, step in enumerate(placement.steps):
            before, changes = len(self.lines), len(self.changes)
            if self.is_late(number):
                self._begin_final_stamps()
            self._add_step(number, step)
            if len(self.lines) > before:
                self._add_stamp(number)
            if len(self.changes) > changes:
                self._add_final_stamp(number)
            for line in range(before + 1, len(self.lines) + 1):
                self.step_of_line[line] = step
                if isinstance(step, IRNode):
                    self.operands[line] = [self._operand(one) for one in step.inputs]
        self._add_return()
        self.stamps += self._final_stamps
        self.source = "\n".join(self.lines) + "\n"

    def add(self, line: str) -> None:
        self.lines.append("    " + line)

    def _add_stamp(self, part: PlanPart) -> None:
        """Adds a call of `stamp` to the body, if there is one."""
        if self._stamp is not None:
            self.add(f"{self.bind('stamp', self._stamp)}()")
            self.stamps.append(part)

    def _begin_final_stamps(self) -> None:
        """Adds a call of `stamp` before the changes at the end."""
        if self._stamp is not None and not self._final_stamps:
            self._add_final_stamp("commit")

    def _add_final_stamp(self, part: PlanPart) -> None:
        """Adds a call of `stamp` to the changes at the end, if there is one."""
        if self._stamp is not None:
            self.changes.append(f"({self.bind('stamp', self._stamp)},),")
            self._final_stamps.append(part)

    def is_late(self, number: int) -> bool:
        """Whether a step writes to input memory at the end."""
        return number >= len(self.placement.steps) - self.placement.late_steps

    def call(self, number: int, step: FusedGroup, name: str, arguments: list[str]) -> None:
        """Adds the call of a kernel, at its position or at the end."""
        if self.is_late(number):
            arrays = [value for value in (*step.inputs, *step.outputs) if value not in self.static]
            self.kept_alive.update(dict.fromkeys(self.names[value] for value in arrays))
            self.changes.append(f"({', '.join([name, *arguments])}),  # {step}")
        else:
            self.add(f"{name}({', '.join(arguments)})  # {step}")

    def empty(self, value: IRValue) -> str:
        """An expression that allocates memory for a value."""
        return f"empty({value.shape!r}, {self._dtype(value)})"

    def bind(self, name: str, value: Any) -> str:
        """Makes `value` available under a name."""
        self.namespace[name] = value
        return name

    def name(self, value: IRValue) -> str:
        """The variable name of a value."""
        return self.names.setdefault(value, f"v{len(self.names)}")

    # -- memory

    def _add_buffers(self) -> None:
        for number, (value, start) in enumerate(self.placement.layout.offsets.items()):
            array = self.memory[start : start + value.nbytes].view(value.dtype).reshape(value.shape)
            self.names[value] = self.bind(f"b{number}", array)
            self.static.add(value)

    def _add_inputs(self) -> None:
        for slot, value in self.placement.graph.inputs.items():
            self.names[value] = f"x{slot}"
        used = set(self.placement.last) | {self.placement.graph.inputs[slot] for slot in self.placement.graph.writes}
        returned = {output.external for output in self.placement.graph.outputs}
        for slot, value in self.placement.graph.inputs.items():
            if value in used or slot in returned:
                self.add(f"x{slot} = x[{slot}]")

    # -- steps

    def _add_step(self, number: int, step: IRNode | FusedGroup) -> None:
        for value in step.outputs:
            self._add_result(value)
        if isinstance(step, FusedGroup):
            self.launch(self, number, step)
        elif step in self.placement.routines:
            self._add_routine_call(number, step)
        elif step in self.placement.copies:
            source = step.values[0]
            self.add(f"copyto({self._reshaped(source.shape, self.names[step.out], step.out)}, {self._operand(source)})")
        elif writes_into(step):
            self._add_out_call(number, step)
        elif not step.inputs and not has_scalars(step.statics):  # the same in every run
            array = step.op.kernel(self.xp, **step.statics)
            self.names[step.out] = self.bind(f"b{len(self.namespace)}", array)
            self.static.add(step.out)
        elif (
            step.op.view
            and step.values[0] in self.static
            and not has_scalars(step.statics)
            and self._add_static_view(step)
        ):
            pass
        else:
            self._add_op_call(number, step)

    def _add_result(self, value: IRValue) -> None:
        kind = self.placement.kind[value]
        if kind == "target":
            self.names[value] = self.names[self.placement.graph.inputs[self.placement.target[value]]]
        elif kind == "output":
            new, index = self.empty(value), self.placement.caller_buffers.get(value)
            self.add(f"{self.name(value)} = {new if index is None else f'm[{index}] if {index} in m else {new}'}")

    def _dtype(self, value: IRValue) -> str:
        name = np.dtype(value.dtype).name
        return self.bind(name if name != "bool" else "bool_", np.dtype(value.dtype))

    def _add_static_view(self, step: IRNode) -> bool:
        """Creates a view of a buffer once; returns False if it is a copy."""
        base = self.namespace[self.names[step.values[0]]]
        array = step.op.kernel(self.xp, base, **(step.statics or {}))
        if not self.xp.may_share_memory(array, base) and array.size:
            return False
        self.names[step.out] = self.bind(f"b{len(self.namespace)}", array)
        self.static.add(step.out)
        return True

    def _add_out_call(self, number: int, step: IRNode) -> None:
        arguments = [self._operand(one) for one in step.inputs]
        out = self.names[step.out]
        if step.op is matmul:
            left, right = step.values
            shapes = left.shape, right.shape
            if len(left.shape) > 2 and len(right.shape) == 2:  # one large product, as in eager mode
                arguments[0], out = self._as_matrix(arguments[0], left), self._as_matrix(out, step.out)
                shapes = (count(left.shape[:-1]), left.shape[-1]), right.shape
            function = "matmul" if self.device is not CPU or is_undivided(*shapes) else "product"
            self.add(f"{function}({', '.join(arguments)}, out={out})")
            return
        kernel = self.bind(f"{step.op.name}{number}", out_variant(step) or step.op.kernel)
        self.add(f"{kernel}(xp, {', '.join(arguments)}, out={out}{self._statics(number, step)})")

    def _as_matrix(self, name: str, value: IRValue) -> str:
        """`value` as a matrix of its rows."""
        return self._reshaped((count(value.shape[:-1]), value.shape[-1]), name, value)

    def _reshaped(self, shape: tuple[int, ...], name: str, value: IRValue) -> str:
        """`value`, named `name`, in another shape."""
        if value in self.static and self.namespace[name].flags.c_contiguous:
            return self.bind(f"b{len(self.namespace)}", self.namespace[name].reshape(shape))
        return f"{name}.reshape{shape}"

    def _add_routine_call(self, number: int, step: IRNode) -> None:
        """Adds the call of a hand-written kernel. Most of them need C-ordered arrays."""
        routine = self.bind(f"{step.op.name}{number}", self.placement.routines[step])
        arguments = [self._operand(one) for one in step.inputs]
        for index, one in enumerate(() if step.op in STRIDED else step.inputs):
            if isinstance(one, IRValue) and not (
                one in self.static and self.namespace[arguments[index]].flags.c_contiguous
            ):
                arguments[index] = f"in_order({arguments[index]}, None, 'C')"
        changing = self._statics(number, step) if has_scalars(step.statics) else ""
        self.add(f"{routine}({', '.join([*arguments, *(self.names[value] for value in step.outputs)])}{changing})")

    def _add_op_call(self, number: int, step: IRNode) -> None:
        arguments = ", ".join(self._operand(one) for one in step.inputs)
        statics = self._statics(number, step)
        if step.mixed:
            op = self.bind(f"{step.op.name}{number}", step.op)
            self.namespace["promoted"] = partial(_promoted, self.device)
            call = f"promoted({op}, [{arguments}]{statics})"
        else:
            kernel = self.bind(f"{step.op.name}{number}", step.op.kernel)
            call = f"{kernel}(xp{', ' if arguments else ''}{arguments}{statics})"
        names = [self.name(value) for value in step.outputs]
        self.add(f"{', '.join(names)}{',' if step.op.outputs > 1 and len(names) == 1 else ''} = {call}")
        if not step.op.view:
            for name in names:
                self.add(f"{name} = in_order({name}, None, 'C')")

    def _statics(self, number: int, step: IRNode) -> str:
        if not step.statics:
            return ""
        name = self.bind(f"statics{number}", step.statics)
        return f", **filled({name}, s)" if has_scalars(step.statics) else f", **{name}"

    def _operand(self, one: Any) -> str:
        if isinstance(one, IRValue):
            return self.names[one]
        if isinstance(one, Scalar):
            return f"s[{one.number}]"
        assert isinstance(one, Constant)
        return repr(one.value)

    # -- the end

    def _add_return(self) -> None:
        graph, placement = self.placement.graph, self.placement
        roots: dict[int, str] = {}
        returned: set[IRValue] = set()
        for output in graph.outputs:
            if output.external is not None or output.root in roots:
                continue
            value = output.value
            source = self.names[value]
            fresh = placement.kind[value] == "fresh" and value not in returned | self.static and not value.is_view
            if placement.kind[value] == "output":
                roots[output.root] = source
            else:
                name = roots[output.root] = f"r{output.root}"
                form = self.bind(f"form{output.root}", output.form)
                self.add(f"{name} = {'own_or_same' if fresh else 'own'}({source}, {form})")
            returned.add(value)
        late_writes = [(slot, value) for slot, value in graph.writes.items() if placement.target.get(value) != slot]
        inputs = set(graph.inputs.values())
        names = {slot: self.names[value] for slot, value in late_writes}
        for slot, value in late_writes:
            is_in_input = placement.kind[value] in ("input", "fresh") and value.base in inputs
            if is_in_input and len(late_writes) > 1:  # another write may change the input first
                names[slot] = f"w{slot}"
                self.add(f"w{slot} = {self.names[value]}.copy()")
        self._add_stamp("results")
        if late_writes:
            self._begin_final_stamps()
            self.changes += [f"(setitem, x{slot}, ..., {names[slot]})," for slot, _ in late_writes]
            self._add_final_stamp("writes")
        outputs = f"[{', '.join(self._output_text(output, roots) for output in graph.outputs)}]"
        if not self.changes:
            self.add(f"return {outputs}, [], []")
            return
        self.add(f"return {outputs}, [")
        for change in self.changes:
            self.add(f"    {change}")
        self.add(f"], [{', '.join(self.kept_alive)}]")

    def _output_text(self, output: IROutput, roots: dict[int, str]) -> str:
        text = roots[output.root] if output.external is None else f"x{output.external}"
        for index, (op, statics) in enumerate(output.chain):
            name = f"{op.name}_{output.slot}_{index}"
            names = self.bind(f"{name}_statics", statics or {})
            text = f"{self.bind(name, op.kernel)}(xp, {text}, **{names})"
        return text


def _promoted(device: Device, op: Any, arrays: list[Any], **statics: Any) -> Any:
    return compute_promoted(op, arrays, statics, device)


def aligned(size: int) -> np.ndarray[Any, Any]:
    """Bytes whose address is a multiple of 64."""
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size]


__all__ = ["KernelCallWriter", "PlanPart", "PlanSource", "aligned"]
