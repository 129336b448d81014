"""Autograd node of an op call. Its gradient is defined by the op's record in the registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine import dtypes
from engine.errors import AutogradError, RegistryError
from engine.graph.node import Edge, Node, SourceLocation, sequence
from engine.graph.node_names import node_name
from engine.graph.saved_tensors import (
    PackedTensor,
    Saved,
    SavedEntry,
    pack,
    raise_freed,
    raise_modified,
    unpack,
    with_history,
)
from engine.modes import MODES, Packing
from engine.ops.gradient_rules import GradientRule
from engine.ops.record import Op
from engine.shape import Spec

_NOTHING: dict[int, Saved] = {}


class OpNode(Node):
    """Op call in the autograd graph: saved tensors and metadata for the gradient."""

    __slots__ = ("metas", "op", "packed", "plan", "released", "saved", "statics")

    def __init__(
        self,
        op: Op,
        edges: Sequence[Edge],
        metas: Sequence[Any],
        statics: dict[str, Any],
        plan: tuple[GradientRule, ...],
        saved: dict[int, Saved],
        outputs: Sequence[tuple[Any, Any]],
        where: SourceLocation,
    ) -> None:
        self.sequence = next(sequence)
        self.op = op
        self.edges = edges
        self.metas = metas
        """(shape, array dtype) of each input; a Python number is stored as the number."""
        self.statics = statics
        self.plan = plan
        self.saved = saved
        """Input index (−1 − k for output k) → saved data."""
        self.outputs = outputs
        self.where = where
        self.hooks = None
        self.released = False
        self.packed = False
        if saved and (packing := MODES.packing) is not None:
            self.saved = {index: pack(tensor, packing) for index, (tensor, _) in saved.items()}
            self.packed = True

    @property
    def label(self) -> str:
        return self.op.name

    def name(self) -> str:
        return node_name(self.op.name, self.metas, self.statics)

    def gradients(self, grads: list[Any], keep: bool, useful: frozenset[int] | None) -> list[Any]:
        if self.released:
            raise_freed(self)
        if self.packed:
            return self._unpacked_run(grads, keep, useful)
        op, edges, metas = self.op, self.edges, self.metas
        result: list[Any] = [None] * len(edges)
        g = grads[0] if op.outputs == 1 else tuple(grads)
        for rule in self.plan:
            covered = range(len(edges)) if op.variadic else rule.covers
            if useful is not None and not any(leads_to(edges[i], useful) for i in covered):
                continue
            input_grads = rule.function(g, *self._arguments(rule))
            if type(input_grads) is not tuple:
                input_grads = input_grads if type(input_grads) is list else (input_grads,)
            if len(input_grads) != len(covered):
                raise RegistryError(
                    f"the gradient of {op.name} returned {len(input_grads)} values for {len(covered)} inputs"
                )
            for index, gradient in zip(covered, input_grads):  # noqa: B905 - strict takes a tenth of a microsecond
                if gradient is not None and edges[index] is not None:
                    shape, dtype = metas[index]
                    array = gradient._array
                    if array.dtype is not dtype or array.shape != shape:
                        gradient = _reduce_to_input(gradient, shape, dtype)
                    result[index] = gradient
        if not keep and self.saved:  # as in PyTorch, a node without saved tensors can run again
            self.saved, self.released = _NOTHING, True
        return result

    def _unpacked_run(self, grads: list[Any], keep: bool, useful: frozenset[int] | None) -> list[Any]:
        """Run the gradient with unpack hooks called once per tensor."""
        packed = self.saved
        self.saved, self.packed = {index: _with_version(self.unpack(index)) for index in packed}, False
        try:
            return self.gradients(grads, True, useful)
        finally:
            self.saved, self.packed = packed, True
            if not keep:
                self.saved, self.released = _NOTHING, True

    def unpack(self, index: int) -> Any:
        """Return the saved tensor. Raises AutogradError if it was modified in place afterwards."""
        tensor, version = self.saved[index]
        if version is None:
            return self._unpacked(tensor, index)
        if tensor._storage.version != version:
            name = index if self.op.variadic else self.op.inputs[index]
            raise_modified(f"input {name}" if index >= 0 else "the result", self.op.name, self.where, tensor, version)
        return tensor

    def saved_entries(self) -> list[SavedEntry]:
        return [
            (self._name_of(index), value, self.output_spec(-1 - index) if index < 0 else self._spec(index), version)
            for index, (value, version) in self.saved.items()
        ]

    def _name_of(self, index: int) -> str:
        """Name of a saved input or output."""
        if index < 0:
            return "result" if len(self.outputs) == 1 else f"result{-1 - index}"
        return f"{self.op.inputs[0]}[{index}]" if self.op.variadic else self.op.inputs[index]

    # PyTorch's names of saved values. Properties, because __getattr__ slows down attribute access of a class.

    @property
    def _saved_self(self) -> Any:
        return self._saved(0)

    @property
    def _saved_other(self) -> Any:
        return self._saved(1)

    @property
    def _saved_result(self) -> Any:
        return self._saved(-1)._with_history(self, 0)

    @property
    def _raw_saved_self(self) -> SavedTensor:
        return SavedTensor(self, 0)

    @property
    def _raw_saved_other(self) -> SavedTensor:
        return SavedTensor(self, 1)

    @property
    def _raw_saved_result(self) -> SavedTensor:
        return SavedTensor(self, -1)

    def _saved(self, index: int) -> Any:
        if self.released:
            raise_freed(self)
        if index not in self.saved:
            raise AttributeError(f"{self.name()} did not save this value: its gradient does not need it")
        return self.unpack(index)

    # -- interface for gradient functions

    def _arguments(self, rule: GradientRule) -> list[Any]:
        if self.op.variadic:
            return [self._of_variadic(kind, key) for kind, key in rule.arguments]
        saved, arguments = self.saved, []
        for kind, key in rule.arguments:
            if kind == "input":
                entry = saved.get(key)
                if entry is None:
                    value = self.metas[key]  # a number
                else:
                    value, version = entry
                    if version is None or value._storage.version != version:
                        value = self.unpack(key)
            elif kind == "static":
                value = self.statics[key]
            elif kind == "spec":
                value = self._spec(key)
            else:
                value = self._result(key)
            arguments.append(value)
        return arguments

    def _of_variadic(self, kind: str, key: Any) -> Any:
        if kind == "static":
            return self.statics[key]
        if kind == "out":
            return self._result(key)
        first = self.op.first_saved if kind == "input" else len(self.edges)
        return [self._spec(i) if i < first else self.unpack(i) for i in range(len(self.edges))]

    def _result(self, index: int) -> Any:
        out = self.unpack(-1 - index)
        return out._with_history(self, index) if out.is_floating_point() else out

    def _spec(self, index: int) -> Any:
        meta = self.metas[index]
        return Spec(tuple(meta[0]), dtypes.from_numpy(meta[1])) if isinstance(meta, tuple) else meta

    def _unpacked(self, packed: PackedTensor, index: int) -> Any:
        if index < 0:
            return unpack(packed, self.outputs[-1 - index])
        return with_history(unpack(packed, self.metas[index]), self.edges[index])


class SavedTensor:
    """Tensor saved by a node."""

    def __init__(self, node: OpNode, index: int) -> None:
        node._saved(index)
        self._node, self._index = node, index

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Pass the tensor through `pack_hook` now and through `unpack_hook` when it is needed."""
        node, index = self._node, self._index
        tensor, version = node.saved[index]
        if version is None:
            raise AutogradError("this saved tensor already has hooks")
        node.saved = {**node.saved, index: pack(tensor, Packing(pack_hook, unpack_hook))}
        node.packed = True


def leads_to(edge: Edge, useful: frozenset[int]) -> bool:
    return edge is not None and id(edge[0]) in useful


def _with_version(tensor: Any) -> Saved:
    return tensor, tensor._storage.version


def _reduce_to_input(gradient: Any, shape: Any, dtype: Any) -> Any:
    """Sum over broadcast dimensions and convert to the dtype of the input."""
    if gradient._array.shape != shape:
        gradient = gradient.sum_to_size(shape)
    return gradient if gradient._array.dtype == dtype else gradient.to(dtypes.from_numpy(dtype))
