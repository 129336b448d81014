"""Builds an ONNX graph: adds ops, constants and the sizes of tensors, and names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.dtypes import DType, bool_, float32, from_numpy, int64
from engine.onnx.optional_packages import ir
from engine.onnx.symbolic_sizes import size_text
from engine.onnx.translators import REASONS, TRANSLATORS, NotExpressible
from engine.shape import Dim, Shape, Spec, SymInt, count
from engine.tracing.traced_graph import TracedOp, TracedValue

Value = Any
"""An `onnx_ir.Value`."""
_RESULT_DTYPES = {
    **dict.fromkeys(
        ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not", "And", "Or", "Xor", "IsNaN", "IsInf"),
        bool_,
    ),
    **dict.fromkeys(("ArgMax", "ArgMin", "Shape", "Size"), int64),
}
"""Dtypes of results that differ from the first input's."""
NODE_KEY = "gradwire.node"
"""Key of the node's name in the metadata of an ONNX node."""


class GraphBuilder:
    """An ONNX graph that grows op by op.

    Args:
        opset: version of ONNX's operators
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.graph = ir.Graph([], [], nodes=[], opset_imports={"": opset}, name="gradwire")
        self.current = TracedOp("", (), {})
        """The op that is being translated."""
        self.traced: dict[Any, TracedValue] = {}
        self._specs: dict[Any, Spec] = {}
        self._dtypes: dict[Any, DType] = {}
        self._values: dict[int, Value] = {}
        self._constants: dict[tuple[Any, ...], Value] = {}
        self._symbols: dict[str, tuple[Value, int]] = {}
        self._sizes: dict[Any, Value] = {}
        self._names: set[str] = set()

    # -- values

    def input(self, traced: TracedValue) -> Value:
        """Add an input of the model. Its symbolic sizes become known."""
        value = self._value(traced.spec, self.unique_name(traced.name))
        self.graph.inputs.append(value)
        self.bind(traced, value)
        for axis, size in enumerate(traced.spec.shape):
            if isinstance(size, Dim) and Dim.quotient(str(size)) is None:
                self._symbols.setdefault(str(size), (value, axis))
        return value

    def reserve_names(self, names: Sequence[str]) -> None:
        """Keep names for outputs."""
        self._names.update(names)

    def output(self, traced: TracedValue, name: str) -> None:
        """Add an output of the model with a reserved name."""
        value = self.operand(traced)
        taken = value.is_graph_input() or value.is_initializer() or any(value is each for each in self.graph.outputs)
        if taken:
            value = self.op("Identity", value, spec=traced.spec)
        value.name = name
        self.graph.outputs.append(value)

    def operand(self, operand: Any) -> Any:
        """The ONNX value of a traced value; numbers, sizes and None are returned unchanged."""
        if not isinstance(operand, TracedValue):
            return operand
        found = self._values.get(id(operand))
        if found is None and operand.array is not None:
            found = self._initializer(operand.array, operand.name) if operand.name else self.constant(operand.array)
            self.bind(operand, found)
        if found is None:
            raise LookupError(f"value {operand.name or operand.spec} is used before its op")
        return found

    def bind(self, traced: TracedValue, value: Value) -> None:
        """Note the ONNX value of a traced value."""
        self._values[id(traced)] = value
        self.traced[value] = traced

    def spec(self, value: Value) -> Spec:
        """Shape and dtype of an ONNX value."""
        return self._specs[value]

    def describe(self, value: Value, spec: Spec) -> None:
        """Set shape and dtype of a value."""
        self._specs[value], self._dtypes[value] = spec, spec.dtype
        value.type = ir.TensorType(ir.DataType.from_numpy(spec.dtype.numpy))
        value.shape = ir.Shape([size_text(size) for size in spec.shape])

    def dtype(self, value: Value) -> DType:
        """Dtype of an ONNX value."""
        return self._dtypes[value]

    def producer(self, value: Value) -> TracedOp | None:
        """The traced op that computes a value."""
        return self.traced[value].producer if value in self.traced else None

    @property
    def results(self) -> tuple[Spec, ...]:
        """Shapes and dtypes of the results of the op that is being translated."""
        return tuple(value.spec for value in self.current.outputs)

    @property
    def result(self) -> Spec:
        """Shape and dtype of its first result."""
        return self.current.outputs[0].spec

    # -- ops

    def op(self, op_type: str, *inputs: Any, outputs: int = 1, spec: Spec | None = None, **attributes: Any) -> Any:
        """Add an ONNX op. Numbers become constants of the first tensor's dtype.

        Args:
            op_type: name of the operator
            inputs: values, numbers or None
            outputs: number of results
            spec: shape and dtype of the result, if later translations need them
            attributes: attributes of the operator; None leaves one out

        Returns:
            the result, or a list of several.
        """
        known = [self._dtypes[one] for one in inputs if isinstance(one, ir.Value)]
        known = known[1:] if op_type == "Where" else known  # without the condition
        like = known[0] if known else float32
        values = [self.number(one, like) if isinstance(one, (bool, int, float, Dim)) else one for one in inputs]
        given = {name: value for name, value in attributes.items() if value is not None}
        made = ir.node(op_type, values, given or None, num_outputs=outputs)
        made.name = self.unique_name(f"{self.current.node or 'model'}/{op_type}")
        if self.current.node:
            made.metadata_props[NODE_KEY] = self.current.node
        for one in made.outputs:
            one.name = self.unique_name(f"{made.name}_output")
            self._dtypes[one] = _RESULT_DTYPES.get(op_type, like)
        self.graph.append(made)
        if spec is not None:
            self.describe(made.outputs[0], spec)
        return made.outputs[0] if outputs == 1 else list(made.outputs)

    def cast(self, value: Any, dtype: DType) -> Value:
        """Convert a value; numbers become constants."""
        if not isinstance(value, ir.Value):
            return self.number(value, dtype)
        if self._dtypes[value] == dtype:
            return value
        out = self.op("Cast", value, to=ir.DataType.from_numpy(dtype.numpy))
        self._dtypes[out] = dtype
        if value in self._specs:
            self.describe(out, Spec(self._specs[value].shape, dtype))
        return out

    def nested(self, name: str, inputs: Sequence[Value], statics: Mapping[str, Any], spec: Spec) -> Value:
        """Add the translation of another op with one result."""
        outer = self.current
        self.current = TracedOp(name, (), statics, outer.node, outer.where, outputs=(TracedValue(spec),))
        try:
            if name not in TRANSLATORS:
                raise NotExpressible(REASONS.get(name, f"it needs {name}, which has no translator"))
            value = TRANSLATORS[name].function(self, *inputs, **statics)
        finally:
            self.current = outer
        self.describe(value, spec)
        return value

    # -- constants and sizes

    def constant(self, array: Any) -> Value:
        """A constant tensor. Equal small ones are one initializer."""
        array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
        key = (array.dtype, array.shape, array.tobytes()) if array.size <= 1024 else (id(array),)
        if key not in self._constants:
            self._constants[key] = self._initializer(array, "constant")
        return self._constants[key]

    def number(self, value: Any, dtype: DType) -> Value:
        """A number or a size as a scalar tensor."""
        if isinstance(value, Dim):
            scalar = self.op("Squeeze", self.size(value), self.integers(0), spec=Spec((), int64))
            return self.cast(scalar, dtype)
        return self.constant(np.asarray(value).astype(dtype.numpy))

    def integers(self, *numbers: Any) -> Value:
        """A vector of int64 constants."""
        return self.constant(np.asarray(numbers, np.int64))

    def size(self, size: SymInt) -> Value:
        """A size as a vector of one int64."""
        if not isinstance(size, Dim):
            return self.integers(int(size))
        if size not in self._sizes:
            self._sizes[size] = self._symbolic_size(size)
        return self._sizes[size]

    def shape(self, sizes: Sequence[SymInt]) -> Value:
        """A shape as a vector of int64."""
        if not any(isinstance(size, Dim) for size in sizes):
            return self.integers(*sizes)
        spec = Spec((len(sizes),), int64)
        return self.op("Concat", *[self.size(size) for size in sizes], axis=0, spec=spec)

    def _symbolic_size(self, size: Dim) -> Value:
        spec = Spec((1,), int64)
        if (source := self._symbols.get(str(size))) is not None:
            value, axis = source
            return self.op("Shape", value, start=axis, end=axis + 1, spec=spec)
        total: Any = None
        for symbols, factor in size.terms():
            parts = [self._symbol(symbol) for symbol in symbols]
            term: Any = self.integers(factor) if factor != 1 or not parts else None
            for part in parts:
                term = part if term is None else self.op("Mul", term, part, spec=spec)
            total = term if total is None else self.op("Add", total, term, spec=spec)
        return total

    def _symbol(self, symbol: str) -> Value:
        quotient = Dim.quotient(symbol)
        if quotient is not None:
            return self.op("Div", self.size(quotient[0]), self.size(quotient[1]), spec=Spec((1,), int64))
        if symbol not in self._symbols:
            raise LookupError(f"no input of the model has the size {symbol}")
        return self.size(Dim(symbol))

    # -- common compositions

    def reshape(self, value: Value, shape: Shape) -> Value:
        """Reshape to known and symbolic sizes."""
        spec = Spec(tuple(shape), self._specs[value].dtype)
        symbolic = [axis for axis, size in enumerate(shape) if isinstance(size, Dim)]
        if len(symbolic) == 1 and 0 not in shape:
            target = self.integers(*(-1 if isinstance(size, Dim) else size for size in shape))
        else:
            target = self.shape(shape)
        return self.op("Reshape", value, target, allowzero=1 if 0 in shape else None, spec=spec)

    def expand(self, value: Value, shape: Shape) -> Value:
        """Broadcast to known and symbolic sizes."""
        spec = self._specs[value]
        if spec.shape == tuple(shape):
            return value
        have = (1,) * (len(shape) - spec.ndim) + spec.shape
        sizes = [1 if size == old else size for size, old in zip(shape, have, strict=True)]
        return self.op("Expand", value, self.shape(sizes), spec=spec.with_shape(shape))

    def transpose(self, value: Value, dims: Sequence[int]) -> Value:
        """Permute dimensions."""
        spec = self._specs[value]
        if list(dims) == list(range(spec.ndim)):
            return value
        shape = tuple(spec.shape[dim] for dim in dims)
        return self.op("Transpose", value, perm=list(dims), spec=spec.with_shape(shape))

    def full(self, shape: Shape, number: Any, dtype: DType) -> Value:
        """A tensor filled with one number."""
        sizes: Any = tuple(shape)
        spec = Spec(sizes, dtype)
        if not spec.is_open and count(shape) <= 1024:
            value = self.constant(np.full(sizes, number, dtype.numpy))
        else:
            filler = ir.tensor(np.asarray([number]).astype(dtype.numpy))
            value = self.op("ConstantOfShape", self.shape(shape), value=filler, spec=spec)
        return value

    # -- names

    def unique_name(self, name: str) -> str:
        """`name`, with a number if it is taken."""
        found, number = name, 1
        while found in self._names:
            number += 1
            found = f"{name}_{number}"
        self._names.add(found)
        return found

    def _value(self, spec: Spec, name: str) -> Value:
        value = ir.Value(name=name)
        self.describe(value, spec)
        return value

    def _initializer(self, array: np.ndarray[Any, Any], name: str) -> Value:
        name = self.unique_name(name)
        value = self._value(Spec(array.shape, from_numpy(array.dtype)), name)
        value.const_value = ir.tensor(np.ascontiguousarray(array) if array.ndim else array, name=name)
        self.graph.register_initializer(value)
        return value


__all__ = ["NODE_KEY", "GraphBuilder", "Value"]
