"""Converts fused nodes to scalar expressions over the axes of an iteration space."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from engine.backend import CPU
from engine.compiler.instruction import Constant, Scalar
from engine.compiler.ir import IRNode, IRValue
from engine.compiler.kernels.cpu_expressions import ImportedNames, expression_text
from engine.compiler.kernels.fused_group import FusedGroup
from engine.compiler.kernels.scalar_expression import (
    BOOL,
    FLOAT64,
    INT64,
    Expression,
    LoweringUnsupported,
    cast,
    make,
    number,
)
from engine.compiler.kernels.trace_kernel import trace_kernel
from engine.dtypes import bfloat16
from engine.ops.record import Op
from engine.ops.shape_rules import wrap_dims

Axes: TypeAlias = tuple[int | None, ...]
"""For each dimension of a value its axis of the iteration space; None for size 1."""

DTYPES = frozenset(np.dtype(name) for name in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"))
"""Dtypes of CPU kernels."""

HALF_DTYPES = frozenset((np.dtype(np.float16), bfloat16.numpy))
"""Dtypes that GPUs store in two bytes and compute in float32."""
SINGLE = np.dtype(np.float32)


@dataclass(frozen=True, slots=True)
class AxisExpression:
    """A value: the expression of an element, and its axes."""

    expression: Expression
    axes: Axes


@dataclass(frozen=True, slots=True)
class KernelProgram:
    """The computation of a kernel."""

    space: tuple[int, ...]
    inputs: tuple[IRValue, ...]
    outputs: tuple[tuple[AxisExpression, IRValue], ...]
    scalars: tuple[Scalar, ...]

    @property
    def dtypes(self) -> tuple[Any, ...]:
        """Dtypes of inputs and outputs."""
        return (*[value.dtype for value in self.inputs], None, *[value.dtype for _, value in self.outputs])


def program_of(fused: FusedGroup) -> KernelProgram:
    """The program of a group. Raises LoweringUnsupported."""
    reader = ProgramBuilder(fused.shape, fused.inputs, fused.scalars)
    for node in fused.nodes:
        reader.read(node)
    if (len(reader.inputs), len(reader.scalars)) != (len(fused.inputs), len(fused.scalars)):
        raise LoweringUnsupported("an op uses a value that the kernel neither reads nor computes")
    return reader.program(fused.outputs)


class ProgramBuilder:
    """Reads nodes as expressions over one iteration space. Further nodes can be added.

    Args:
        space: shape of the iteration space
        inputs: input arrays in the order of the kernel's arguments; further inputs are appended
        scalars: numbers that vary between runs, likewise
    """

    def __init__(self, space: tuple[int, ...], inputs: Iterable[IRValue] = (), scalars: Iterable[Scalar] = ()) -> None:
        if 0 in space:
            raise LoweringUnsupported("it has no elements")
        self.space = space
        self.inputs = {value: index for index, value in enumerate(inputs)}
        self.scalars = {scalar: index for index, scalar in enumerate(scalars)}
        self.expressions: dict[IRValue, AxisExpression] = {}
        self.reductions: dict[frozenset[int], None] = {}
        """Sets of axes that are reduced."""
        for value in self.inputs:
            _check_dtype(value)

    def read(self, node: IRNode) -> None:
        """Adds a node, which may use results of earlier nodes."""
        rule = _RULES.get(node.op.name, ProgramBuilder.elementwise)
        rule(self, node)

    def program(self, outputs: Sequence[IRValue]) -> KernelProgram:
        """The program with these outputs."""
        for value in outputs:
            _check_dtype(value)
        results = tuple((self.with_broadcast_axes(value), value) for value in outputs)
        _check_texts(one.expression for one, _ in results)
        return KernelProgram(self.space, tuple(self.inputs), results, tuple(self.scalars))

    def snapshot(self) -> tuple[int, ...]:
        """A snapshot for `back`."""
        return tuple(map(len, (self.inputs, self.scalars, self.expressions, self.reductions)))

    def restore(self, snapshot: tuple[int, ...]) -> None:
        """Restores a snapshot."""
        for table, count in zip((self.inputs, self.scalars, self.expressions, self.reductions), snapshot, strict=True):
            while len(table) > count:
                table.popitem()

    # -- axes

    def axes_of_result(self, shape: tuple[int, ...], known_axes: list[Axes]) -> Axes:
        """Axes of an elementwise result: those of known inputs, else the last axes of the space."""
        found: list[int | None] = []
        for index in range(-len(shape), 0):
            axes = {one[index] for one in known_axes if len(one) >= -index} - {None}
            if len(axes) > 1:
                raise LoweringUnsupported("values are combined along different axes")
            if shape[index] == 1:
                found.append(None)
            elif axes:
                found.append(axes.pop())
            else:
                found.append(self._last_axis(index, shape[index]))
        used = [axis for axis in found if axis is not None]
        if len(set(used)) < len(used):
            raise LoweringUnsupported("two dimensions share one axis of the iteration space")
        return tuple(found)

    def _last_axis(self, index: int, size: int) -> int:
        axis = len(self.space) + index
        if axis < 0 or self.space[axis] != size:
            raise LoweringUnsupported(f"a dimension of size {size} does not match the iteration space {self.space}")
        return axis

    def input_expression(self, value: IRValue, axes: Axes) -> AxisExpression:
        """An input of the kernel along the last of these axes."""
        if value not in self.inputs:
            _check_dtype(value)
            self.inputs[value] = len(self.inputs)
        input_axes = axes[len(axes) - len(value.shape) :]
        kept_axes = tuple(None if size == 1 else axis for size, axis in zip(value.shape, input_axes, strict=True))
        return AxisExpression(make("input", value.dtype, value=(self.inputs[value], kept_axes)), kept_axes)

    def with_broadcast_axes(self, value: IRValue) -> AxisExpression:
        """A result with all of its axes, including those along which it is broadcast."""
        found = self.expressions[value]
        return AxisExpression(found.expression, self.axes_of_result(value.shape, [found.axes]))

    def operand(self, value: IRValue) -> AxisExpression:
        """An operand; inputs lie along the last axes."""
        found = self.expressions.get(value)
        return found or self.input_expression(value, self.axes_of_result(value.shape, []))

    def scalar(self, one: Any) -> Any:
        """Replaces varying numbers in statics by expressions."""
        if isinstance(one, Scalar):
            return make("scalar", FLOAT64, value=self.scalars.setdefault(one, len(self.scalars)), weak=True)
        if isinstance(one, Constant):
            return one.value
        if type(one) in (tuple, list):
            return type(one)(self.scalar(item) for item in one)
        return one

    # -- nodes

    def elementwise(self, node: IRNode) -> None:
        """Adds an op whose kernel can be traced."""
        op = node.op
        if op.kind in ("movement", "reduce") and op.name != "cast":
            raise LoweringUnsupported(f"{op.name}: it moves or combines elements")
        for one in (*node.values, *node.outputs):
            _check_dtype(one)
        known_axes = [self.expressions[value].axes for value in node.values if value in self.expressions]
        try:
            shape = np.broadcast_shapes(*(value.shape for value in node.values))
        except ValueError:
            raise LoweringUnsupported(f"{op.name}: its inputs do not broadcast") from None
        if any(value.shape != shape for value in node.outputs):
            raise LoweringUnsupported(f"{op.name}: its results and inputs have different shapes")
        axes = self.axes_of_result(shape, known_axes)
        inputs: list[Any] = []
        for one in node.inputs:
            if isinstance(one, IRValue):
                inputs.append((self.expressions.get(one) or self.input_expression(one, axes)).expression)
            else:
                inputs.append(self.scalar(one))
        ndims = [len(one.shape) if isinstance(one, IRValue) else 0 for one in node.inputs]
        statics = {name: self.scalar(value) for name, value in (node.statics or {}).items()}
        found = trace_kernel(op, inputs, ndims, statics, node.mixed)
        for value, expression in zip(node.outputs, found, strict=True):
            if expression.dtype != value.dtype:
                raise LoweringUnsupported(
                    f"{op.name}: symbolic execution gives {expression.dtype}, NumPy {value.dtype}"
                )
            self.expressions[value] = AxisExpression(expression, axes)

    def reduction(self, node: IRNode) -> None:
        """Adds a reduction."""
        (value,) = node.values
        statics = {"dim": None, "keepdim": False, "dtype": None, **(node.statics or {})}
        source = self.operand(value)
        dims = wrap_dims(node.op.name, statics["dim"], len(value.shape))
        if any(source.axes[dim] is None and value.shape[dim] != 1 for dim in dims):
            raise LoweringUnsupported(f"{node.op.name}: it reduces a broadcast dimension")
        over = tuple(sorted(axis for dim in dims if (axis := source.axes[dim]) is not None))
        self.reductions[frozenset(over)] = None
        make_reduced = _REDUCTIONS[node.op.name]
        dtype = None if statics["dtype"] is None else statics["dtype"].numpy
        _check_dtype(node.out)
        if node.out.dtype in HALF_DTYPES:  # rounded once
            expression = cast(make_reduced(cast(source.expression, SINGLE), over, None, SINGLE), node.out.dtype)
        else:
            expression = make_reduced(source.expression, over, dtype, node.out.dtype)
        if expression.dtype != node.out.dtype:
            raise LoweringUnsupported(f"{node.op.name}: kernels do not support {node.out.dtype}")
        axes = [None if dim in dims else axis for dim, axis in enumerate(source.axes)]
        if not statics["keepdim"]:
            axes = [axis for dim, axis in enumerate(axes) if dim not in dims]
        self.expressions[node.out] = AxisExpression(expression, tuple(axes))

    def sum_backward(self, node: IRNode) -> None:
        """Adds a broadcast of a reduced value over the reduced dimensions."""
        (value,) = node.values
        shape, dims = node.statics["shape"], node.statics["dims"]
        source = self.sum_backward_operand(value, shape, dims)
        axes = list(source.axes)
        if len(axes) < len(shape):
            for dim in sorted(dims):
                axes.insert(dim, None)
        self.expressions[node.out] = AxisExpression(source.expression, tuple(axes))

    def sum_backward_operand(self, value: IRValue, shape: tuple[int, ...], dims: tuple[int, ...]) -> AxisExpression:
        """The operand of `sum_backward`; an input has the kept dimensions of `shape`."""
        found = self.expressions.get(value)
        if found is not None:
            return found
        axes = self.axes_of_result(tuple(shape), [])
        if len(value.shape) == len(shape):
            return self.input_expression(value, axes)
        return self.input_expression(value, tuple(axis for dim, axis in enumerate(axes) if dim not in dims))

    def reordered(self, node: IRNode) -> None:
        """Adds `permute`."""
        (value,) = node.values
        source = self.operand(value)
        self.expressions[node.out] = AxisExpression(
            source.expression, tuple(source.axes[dim % len(source.axes)] for dim in node.statics["dims"])
        )

    def reshaped(self, node: IRNode) -> None:
        """Adds `reshape` and similar ops that only add or remove dimensions of size 1."""
        (value,) = node.values
        source = self.operand(value)
        if [size for size in value.shape if size != 1] != [size for size in node.out.shape if size != 1]:
            raise LoweringUnsupported(f"{node.op.name}: it changes shapes")
        rest = iter([axis for size, axis in zip(value.shape, source.axes, strict=True) if size != 1])
        self.expressions[node.out] = AxisExpression(
            source.expression, tuple(None if size == 1 else next(rest) for size in node.out.shape)
        )

    def axis_index(self, node: IRNode) -> None:
        """Adds `index_along`: the index of an axis."""
        axes = self.axes_of_result(
            node.out.shape, [self.expressions[v].axes for v in node.values if v in self.expressions]
        )
        axis = axes[node.statics["dim"]]
        along: Axes = tuple(axis if dim == node.statics["dim"] % len(axes) else None for dim in range(len(axes)))
        expression = number(0, INT64) if axis is None else make("index", INT64, value=axis)
        self.expressions[node.out] = AxisExpression(expression, axes if axis is None else along)

    def expanded(self, node: IRNode) -> None:
        """Adds `expand`: dimensions of size 1 are repeated."""
        (value,) = node.values
        source = self.operand(value)
        more = len(node.out.shape) - len(value.shape)
        self.expressions[node.out] = AxisExpression(source.expression, (*(None,) * more, *source.axes))


def _check_dtype(value: IRValue) -> None:
    if value.dtype not in DTYPES and (value.device is CPU or value.dtype not in HALF_DTYPES):
        raise LoweringUnsupported(f"kernels do not support {value.dtype}")


def _check_texts(roots: Iterable[Expression]) -> None:
    """Raises LoweringUnsupported for expressions that kernels do not support. Results are cached."""
    names, stack, fine = ImportedNames(), list(roots), set[Expression]()
    while stack:
        one = stack.pop()
        if not one.is_lowerable and one not in fine:
            if one.args and one.name != "reduce":
                expression_text(_in_single(one), ["x"] * len(one.args), names)
            fine.add(one)
            stack.extend(one.args)
    for one in fine:
        one.is_lowerable = True


def _in_single(one: Expression) -> Expression:
    """The expression with float32 in place of half-precision dtypes."""
    parts = (one, *one.args)
    if not any(part.dtype in HALF_DTYPES for part in parts):
        return one
    found = [SINGLE if part.dtype in HALF_DTYPES else part.dtype for part in parts]
    args = tuple(make(arg.name, dtype, value=arg.value) for arg, dtype in zip(one.args, found[1:], strict=True))
    return make(one.name, found[0], args, one.value)


def _sum(x: Expression, over: tuple[int, ...], dtype: Any, out: Any) -> Expression:
    return make("reduce", out, (cast(x, out),), ("add", over))


def _mean(x: Expression, over: tuple[int, ...], dtype: Any, out: Any) -> Expression:
    total = _sum(cast(x, dtype or x.dtype), over, None, out)
    return make("true_divide", out, (total, cast(make("size", INT64, value=over), out)))


def _prod(x: Expression, over: tuple[int, ...], dtype: Any, out: Any) -> Expression:
    return make("reduce", out, (cast(x, out),), ("multiply", over))


def _extreme(name: str) -> Callable[..., Expression]:
    return lambda x, over, dtype, out: make("reduce", x.dtype, (x,), (name, over))


def _truth(name: str) -> Callable[..., Expression]:
    def made(x: Expression, over: tuple[int, ...], dtype: Any, out: Any) -> Expression:
        truth = make("not_equal", BOOL, (x, cast(number(0), x.dtype)))
        return cast(make("reduce", BOOL, (truth,), (name, over)), out)

    return made


_REDUCTIONS: dict[str, Callable[..., Expression]] = {
    "sum": _sum,
    "mean": _mean,
    "prod": _prod,
    "amax": _extreme("maximum"),
    "amin": _extreme("minimum"),
    "any": _truth("logical_or"),
    "all": _truth("logical_and"),
}
_RULES: dict[str, Callable[[ProgramBuilder, IRNode], None]] = {
    **dict.fromkeys(_REDUCTIONS, ProgramBuilder.reduction),
    "sum_backward": ProgramBuilder.sum_backward,
    "permute": ProgramBuilder.reordered,
    "reshape": ProgramBuilder.reshaped,
    "index_along": ProgramBuilder.axis_index,
    "unsqueeze": ProgramBuilder.reshaped,
    "squeeze": ProgramBuilder.reshaped,
    "expand": ProgramBuilder.expanded,
}


def is_reduction(op: Op) -> bool:
    """Whether kernels support this reduction."""
    return op.name in _REDUCTIONS


__all__ = [
    "DTYPES",
    "HALF_DTYPES",
    "Axes",
    "KernelProgram",
    "AxisExpression",
    "ProgramBuilder",
    "is_reduction",
    "program_of",
]
