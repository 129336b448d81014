"""Fused groups made from ops and arrays, and what eager mode computes for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.backend import CPU, Device
from engine.compiler.instruction import Constant, Scalar
from engine.compiler.ir import IRNode, IRValue
from engine.compiler.kernels import CpuKernel, FusedGroup, compile
from engine.compiler.sequential_executor import compute_call, is_mixed
from engine.ops.record import REGISTRY, Op


class Group:
    """Nodes as they are added, with the arrays that eager mode gives, on the CPU.

    Args:
        device: where the nodes say they are
    """

    def __init__(self, device: Device = CPU) -> None:
        self.device = device
        self.nodes: list[IRNode] = []
        self.arrays: dict[IRValue, Any] = {}
        self.inputs: list[IRValue] = []
        self.scalars: list[float] = []

    def input(self, array: Any) -> IRValue:
        array = np.asarray(array)
        value = IRValue(array.shape, array.dtype, self.device)
        self.inputs.append(value)
        self.arrays[value] = array
        return value

    def scalar(self, number: float) -> Scalar:
        self.scalars.append(number)
        return Scalar(len(self.scalars) - 1)

    def add(self, name: str | Op, *inputs: Any, **statics: Any) -> Any:
        """A node; floats among the statics and inputs become run-time numbers. Returns its result or results."""
        op = REGISTRY[name] if isinstance(name, str) else name
        given = [self.arrays[one] if isinstance(one, IRValue) else one for one in inputs]
        whole = {**op.defaults, **statics}
        found = compute_call(op, given, whole, CPU, is_mixed(given))
        operands = [one if isinstance(one, IRValue) else self._operand(one) for one in inputs]
        kept = {k: self.scalar(v) if type(v) is float else v for k, v in whole.items()}
        node = IRNode(op, operands, kept, is_mixed(given))
        node.outputs = [IRValue(one.shape, one.dtype, self.device, node, index) for index, one in enumerate(found)]
        self.arrays.update(zip(node.outputs, found, strict=True))
        self.nodes.append(node)
        return node.out if len(found) == 1 else node.outputs

    def _operand(self, number: Any) -> Any:
        return self.scalar(number) if type(number) is float else Constant(number)

    def fused(self, shape: Sequence[int], outputs: Sequence[IRValue], in_place: Any = ()) -> FusedGroup:
        used = {value for node in self.nodes for value in node.values}
        inputs = tuple(value for value in self.inputs if value in used)
        scalars = tuple(Scalar(index) for index in range(len(self.scalars)))
        return FusedGroup(tuple(shape), tuple(self.nodes), inputs, scalars, tuple(outputs), tuple(in_place))

    def run(self, shape: Sequence[int], outputs: Sequence[IRValue]) -> list[Any]:
        """The outputs as a compiled kernel computes them."""
        fused = self.fused(shape, outputs)
        given = [self.arrays[value] for value in fused.inputs]
        strides = [tuple(s // a.itemsize for s in a.strides) for a in given]
        kernel = compile(fused, [*strides, *[None] * len(outputs)])
        found = [np.full(value.shape, 77, value.dtype) for value in outputs]
        kernel(given, self.scalars, found)
        check_reference(kernel, given, self.scalars, found)
        return found


def check_reference(kernel: CpuKernel, inputs: Sequence[Any], scalars: Sequence[float], found: Sequence[Any]) -> None:
    """Fails unless NumPy computes the very bits that the kernel has computed; which NaN it is does not matter."""
    others = [np.full_like(one, 66) for one in found]
    with np.errstate(all="ignore"):
        kernel.reference(inputs, scalars, others)
    for index, (one, other) in enumerate(zip(found, others, strict=True)):
        kind = f"u{one.itemsize}"
        same = np.atleast_1d(one).view(kind) == np.atleast_1d(other).view(kind)
        if one.dtype.kind == "f":
            same |= np.atleast_1d(np.isnan(one) & np.isnan(other))
        where = np.flatnonzero(~same)[:5]
        assert same.all(), f"output {index} of {kernel.name}: {one.ravel()[where]} and {other.ravel()[where]}"
