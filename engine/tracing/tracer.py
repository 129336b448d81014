"""Traces a model: runs it on the meta device and records its ops.

Sizes may be symbolic. Inputs are meta tensors. Weights keep their device, because an op with a meta tensor runs its
shape rule only. An op on weights alone runs, and is recorded as well, so that a file holds the weights themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from engine.backend import META, MetaArray, to_host
from engine.compiler.fill_op import FILL
from engine.dtypes import DType
from engine.graph import RemovableHandle, SourceLocation
from engine.modes import MODES
from engine.nn.module import Module
from engine.nn.module_hooks import GLOBAL_HOOKS, Hook
from engine.observe import Relay, call_site, is_library_file
from engine.ops.record import Op
from engine.random import RandomNumbers
from engine.shape import Dim, Spec
from engine.tensors import Storage, Tensor
from engine.tensors.creation import from_array
from engine.tensors.dispatch.in_place_call import OVERWRITE
from engine.tracing.traced_graph import Operand, RandomInput, TracedOp, TracedValue

NodeNamer = Callable[[SourceLocation, Sequence[tuple[str, Module]]], str]
"""Names the node of an op from its source line and the modules that were running, outermost first."""
LayerMatcher = Callable[[Module, tuple[Any, ...], dict[str, Any]], "tuple[Tensor | None, ...] | None"]
"""The tensors that one op takes in place of a module call; None if the module's ops are recorded."""


def innermost_module(where: SourceLocation, modules: Sequence[tuple[str, Module]]) -> str:
    """Name a node by the path of the innermost module."""
    return modules[-1][0] if modules else ""


class Tracer(Relay):
    """Context manager that records ops as a list. It is the observer and the tracer of its thread.

    Args:
        module: the traced model, whose parameters and buffers become weights
        node_name: names the node of each op
        match_layer: chooses the module calls that are recorded as one op
    """

    def __init__(self, module: Module | None, node_name: NodeNamer, match_layer: LayerMatcher) -> None:
        super().__init__(None)
        self.ops: list[TracedOp] = []
        self.random_inputs: list[RandomInput] = []
        """Random numbers that the model draws, in order."""
        self.node_name, self.match_layer = node_name, match_layer
        self._values: dict[int, tuple[TracedValue, int]] = {}
        """Value of an array, and the version of its memory that it belongs to."""
        self._versions: dict[int, int] = {}
        self._alive: list[Any] = []
        """Arrays and storages, whose ids must not be reused."""
        self._paths = {} if module is None else {id(each): path for path, each in module.named_modules()}
        self._modules: list[tuple[str, Module]] = []
        self._hooks: list[RemovableHandle] = []
        self._before: tuple[Any, Any] = (None, None)
        for name, tensor in _named_tensors(module):
            self._keep(tensor, TracedValue(_spec(tensor), name=name, array=to_host(tensor._numbers())))

    def __enter__(self) -> Tracer:
        self._before = MODES.observer, MODES.tracer
        MODES.observer, MODES.tracer = self, self
        self._hooks = [
            RemovableHandle.add(GLOBAL_HOOKS.forward_pre, Hook(self._enter_module)),
            RemovableHandle.add(GLOBAL_HOOKS.forward, Hook(self._leave_module, with_kwargs=True)),
        ]
        return self

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        MODES.observer, MODES.tracer = self._before
        for hook in self._hooks:
            hook.remove()

    def origin_of(self, error: BaseException) -> tuple[str, SourceLocation]:
        """The node and the line of the model that raised an error."""
        where: SourceLocation = None
        trace = error.__traceback__
        while trace is not None:
            filename = trace.tb_frame.f_code.co_filename
            where = where if is_library_file(filename) else (filename, trace.tb_lineno)
            trace = trace.tb_next
        return self.node_name(where, self._modules), where

    # -- inputs and constants

    def input(self, name: str, spec: Spec) -> Tensor:
        """A tensor that stands for an input of the model."""
        return self._new(TracedValue(spec, name=name))

    def created(
        self,
        name: str,
        fill: Any,
        shape: tuple[Any, ...],
        dtype: DType,
        value: Any,
        drawn: RandomNumbers | None = None,
    ) -> Tensor:
        """A tensor that the model creates on the meta device. Random numbers become an input."""
        spec = Spec(tuple(shape), dtype)
        if drawn is not None:
            found = TracedValue(spec, name=self.node_name(call_site(), self._modules) or "random")
            self.random_inputs.append(RandomInput(found, drawn.distribution, drawn.first, drawn.second))
            return self._new(found)
        if name == "empty":
            return self._new(self._record("empty", (), {"shape": spec.shape}, (spec,))[0])
        if value is None and not spec.is_open:
            return from_array(fill(np, shape, dtype.numpy))  # the model may use its values
        if name == "arange":
            return self._new(self._record("arange", (), {"length": shape[0]}, (spec,))[0])
        statics = {"shape": spec.shape, "dtype": dtype.numpy, "value": 0 if value is None else value}
        return self._new(self._record(FILL.name, (), statics, (spec,))[0])

    def moved(self, source: Tensor, out: Tensor) -> None:
        """Note that a tensor is a copy of another on a different device."""
        self._keep(out, self.value_of(source))

    # -- ops

    def prepare(self, inputs: Sequence[Any], statics: Mapping[str, Any]) -> Sequence[Any]:
        """Inputs of an op before it runs: with symbolic sizes in its arguments, only its shape rule can run."""
        if not _has_symbol(tuple(statics.values())):
            return inputs
        return [self._as_meta(each) if isinstance(each, Tensor) else each for each in inputs]

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], outs: Sequence[Any]) -> SourceLocation:
        """Record an op; `engine.tensors.dispatch` calls this after each op."""
        where = call_site()
        is_write = bool(outs) and bool(inputs) and outs[0] is inputs[0]
        if not any(self._is_traced(each) for each in inputs) and not any(out.device is META for out in outs):
            return where
        operands = tuple(self._operand(each) for each in inputs)
        if is_write and op.name == "assign":
            operands = (None, *operands[1:])  # the old values do not matter
        specs = tuple(_spec(out) for out in outs)
        results = self._record(op.name, operands, statics, specs, where)
        if is_write:
            self._write(outs[0], results[0])
        else:
            for out, result in zip(outs, results, strict=True):
                self._keep(out, result)
        return where

    def value_of(self, tensor: Tensor) -> TracedValue:
        """The value that a tensor has now. A tensor that is not traced is a constant."""
        found = self._values.get(id(tensor._array))
        if found is None:
            if tensor.device is META:
                tensor._numbers()  # raises the error for a tensor without values
            value = TracedValue(_spec(tensor), array=to_host(tensor._numbers()).copy())
            self._keep(tensor, value)
            return value
        value, version = found
        base = tensor._base
        if base is None or tensor._view is None or version == self._versions.get(id(tensor._storage), 0):
            return value
        value = self.value_of(base)
        for op, statics in tensor._view[0]:
            result = op.infer([value.spec], statics)
            spec = result if isinstance(result, Spec) else value.spec.with_shape(result)
            value = self._record(op.name, (value,), statics, (spec,))[0]
        self._keep(tensor, value)
        return value

    def _record(
        self,
        name: str,
        inputs: tuple[Operand, ...],
        statics: Mapping[str, Any],
        specs: Sequence[Spec],
        where: SourceLocation = None,
        layer: Module | None = None,
    ) -> tuple[TracedValue, ...]:
        where = where or call_site()
        op = TracedOp(name, inputs, dict(statics), self.node_name(where, self._modules), where, layer)
        op.outputs = tuple(TracedValue(spec, op, index) for index, spec in enumerate(specs))
        self.ops.append(op)
        return op.outputs

    def _write(self, target: Tensor, result: TracedValue) -> None:
        """Note an in-place write: the base of a view changes, and other views of it are out of date."""
        base, storage = target._base, id(target._storage)
        if base is None or target._view is None:
            self._versions[storage] = self._versions.get(storage, 0) + 1
            self._keep(target, result)
            return
        old = self._initialized(self.value_of(base))
        [new] = self._record(OVERWRITE.name, (old, result), {"chain": target._view[0]}, (old.spec,))
        self._versions[storage] = self._versions.get(storage, 0) + 1
        self._keep(base, new)
        self._keep(target, result)

    def _initialized(self, value: TracedValue) -> TracedValue:
        """The base of a write: memory that the model will write in parts starts as zeros."""
        if value.producer is None or value.producer.name != "empty":
            return value
        return self._record(FILL.name, (), {**value.producer.statics, "dtype": None, "value": 0}, (value.spec,))[0]

    def _operand(self, value: Any) -> Operand:
        if isinstance(value, Tensor):
            return self.value_of(value)
        return value.item() if isinstance(value, np.generic) else value

    def _is_traced(self, value: Any) -> bool:
        return isinstance(value, Tensor) and (value.device is META or id(value._array) in self._values)

    def _as_meta(self, tensor: Tensor) -> Tensor:
        return tensor if tensor.device is META else self._new(self.value_of(tensor))

    def _new(self, value: TracedValue) -> Tensor:
        tensor = Tensor(MetaArray(value.spec.shape, value.spec.dtype.numpy), Storage(META))
        self._keep(tensor, value)
        return tensor

    def _keep(self, tensor: Tensor, value: TracedValue) -> None:
        self._alive += [tensor._array, tensor._storage]
        self._values[id(tensor._array)] = value, self._versions.get(id(tensor._storage), 0)

    # -- modules

    def _enter_module(self, module: Module, args: Any) -> None:
        outer = self._modules[-1][0] if self._modules else ""
        self._modules.append((self._paths.get(id(module), outer), module))

    def _leave_module(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        outputs = (output,) if isinstance(output, Tensor) else output
        inputs = self.match_layer(module, args, kwargs)
        if inputs is not None and isinstance(outputs, tuple):
            operands = tuple(None if each is None else self.value_of(each) for each in inputs)
            specs = tuple(_spec(out) for out in outputs)
            composed = tuple(self.value_of(out) for out in outputs)
            results = self._record(type(module).__name__, operands, {}, specs, None, module)
            self.ops[-1].composed = composed
            for out, result in zip(outputs, results, strict=True):
                self._keep(out, result)
        self._modules.pop()


def _named_tensors(module: Module | None) -> list[tuple[str, Tensor]]:
    """Parameters and buffers by their name in the state_dict; a shared one once, by its first name."""
    if module is None:
        return []
    found = [*module.named_parameters(), *module.named_buffers()]
    seen: set[int] = set()
    return [(name, one) for name, one in found if not (id(one._array) in seen or seen.add(id(one._array)))]


def _has_symbol(value: Any) -> bool:
    if isinstance(value, slice):
        return any(isinstance(each, Dim) for each in (value.start, value.stop, value.step))
    return isinstance(value, Dim) or (isinstance(value, (tuple, list)) and any(map(_has_symbol, value)))


def _spec(tensor: Tensor) -> Spec:
    return Spec(tuple(tensor.shape), tensor.dtype)


__all__ = ["LayerMatcher", "NodeNamer", "Tracer", "innermost_module"]
