"""Runs a graph of an artifact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import psutil

from engine.backend import CPU, Device
from engine.export.errors import ArtifactError, printable
from engine.export.graph_cost import peak_bytes
from engine.random import RandomNumbers, default_generator
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import from_array
from engine.tensors.storage import memory_owner
from engine.tracing.op_evaluation import evaluate, named_sizes, plain_computation, with_sizes
from engine.tracing.size_comparison import FAILURES
from engine.tracing.traced_graph import RandomInput, TracedGraph, TracedOp, TracedValue

_MAX_CACHED = 64
"""Sizes of inputs whose memory is remembered."""


class GraphRunner:
    """Runs a checked graph op by op. Values are freed after their last use. Threads can share a runner.

    Args:
        graph: checked graph
        location: file and graph, for errors
        device: device of the weights and the computation
    """

    def __init__(self, graph: TracedGraph, location: str, device: Device = CPU) -> None:
        self.graph, self.device = graph, device
        self._location = location
        last = {id(value): index for index, op in enumerate(graph.ops) for value in (*op.outputs, *op.operands)}
        self._weights: dict[int, Tensor] = {}
        for value in [*(value for op in graph.ops for value in op.operands), *graph.outputs]:
            if value.array is not None and id(value) not in self._weights:
                self._weights[id(value)] = from_array(value.array).to(device)
        kept = {*self._weights, *map(id, graph.outputs)}
        self._freed: list[list[int]] = [[] for _ in graph.ops]
        for key, index in last.items():
            if key not in kept:
                self._freed[index].append(key)
        self._peaks: dict[tuple[int, ...], int] = {}
        """Bytes that the graph needs, by sizes."""

    def __call__(self, inputs: Sequence[Tensor | Any]) -> tuple[Tensor, ...]:
        """The outputs for tensors or arrays. Raises ArtifactError for inputs that do not fit, or too little memory."""
        graph = self.graph
        if len(inputs) != len(graph.inputs):
            names = ", ".join(each.name for each in graph.inputs)
            raise self._error(f"takes {len(graph.inputs)} inputs ({names}), not {len(inputs)}", "Pass one for each.")
        tensors = [self._tensor(value, given) for value, given in zip(graph.inputs, inputs, strict=True)]
        sizes = self._sizes(tensors)
        self._check_memory(sizes)
        values = {id(value): tensor for value, tensor in zip(graph.inputs, tensors, strict=True)}
        with plain_computation():
            for drawn in graph.random_inputs:
                values[id(drawn.value)] = self._guarded(drawn.distribution, drawn.value.name, self._drawn, drawn, sizes)
            for op, freed in zip(graph.ops, self._freed, strict=True):
                self._compute(op, values, sizes)
                for key in freed:
                    del values[key]
            return self._outputs(values, tensors)

    def _drawn(self, drawn: RandomInput, sizes: Mapping[str, int]) -> Tensor:
        shape, dtype = with_sizes(drawn.value.spec.shape, sizes), drawn.value.spec.dtype
        numbers = RandomNumbers(default_generator, drawn.distribution, drawn.first, drawn.second)
        return from_array(np.asarray(numbers.draw(shape, dtype)).astype(dtype.numpy)).to(self.device)

    def _compute(self, op: TracedOp, values: dict[int, Tensor], sizes: Mapping[str, int]) -> None:
        inputs = [
            (values.get(id(each)) if id(each) in values else self._weights[id(each)])
            if isinstance(each, TracedValue)
            else each
            for each in op.inputs
        ]
        results = self._guarded(op.name, op.node, evaluate, op, inputs, sizes)
        for value, result in zip(op.outputs, results, strict=True):
            expected = with_sizes(value.spec.shape, sizes)
            if tuple(result.shape) != expected:
                shown = ", ".join(f"{name} = {number}" for name, number in sizes.items())
                raise self._error(
                    f"{op.name} of {_node(op.node)} gave {format_shape(result.shape)} in place of "
                    f"{format_shape(expected)}",
                    f"The code of the model treats {shown or 'these sizes'} differently than the sizes it was exported "
                    "with. Pass other sizes, or export the model with fixed sizes.",
                )
            values[id(value)] = result.to(self.device)

    def _outputs(self, values: dict[int, Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The outputs, in memory that no weight, no input and no other output shares."""
        taken = {id(memory_owner(each._numbers())) for each in (*self._weights.values(), *inputs)}
        found: list[Tensor] = []
        for value in self.graph.outputs:
            tensor = values[id(value)] if id(value) in values else self._weights[id(value)]
            if tensor._base is not None or id(memory_owner(tensor._numbers())) in taken:
                tensor = self._guarded("clone", "the outputs", tensor.clone)
            taken.add(id(memory_owner(tensor._numbers())))
            found.append(tensor)
        return tuple(found)

    # -- checks of inputs

    def _tensor(self, value: TracedValue, given: Any) -> Tensor:
        tensor = given.detach() if isinstance(given, Tensor) else None
        if tensor is None:
            array = np.asarray(given)
            if array.dtype.kind not in "biuf":
                raise self._error(
                    f"input {value.name!r} has values of dtype {array.dtype}", f"Pass {value.spec.dtype.name} numbers."
                )
            tensor = from_array(array)
        if tensor.dtype is not value.spec.dtype:
            name = value.spec.dtype.name
            raise self._error(
                f"input {value.name!r} is {tensor.dtype.name}, but the graph takes {name}", f"Convert it to {name}."
            )
        return tensor.to(self.device)

    def _sizes(self, tensors: Sequence[Tensor]) -> dict[str, int]:
        pairs = list(zip(self.graph.inputs, tensors, strict=True))
        fitting = [(value.spec, tensor.shape) for value, tensor in pairs if tensor.ndim == value.spec.ndim]
        sizes = named_sizes(fitting)
        for value, tensor in pairs:
            if tensor.ndim != value.spec.ndim or with_sizes(value.spec.shape, sizes) != tuple(tensor.shape):
                expected = format_shape(value.spec.shape)
                raise self._error(
                    f"input {value.name!r} is {format_shape(tensor.shape)}, but the graph takes {expected}",
                    "Pass one row for each sample, and as many rows in all inputs.",
                )
        return sizes

    def _check_memory(self, sizes: Mapping[str, int]) -> None:
        """Raises ArtifactError if the values of the graph do not fit into the free memory."""
        key = tuple(sizes.values())
        peak = self._peaks.get(key)
        if peak is None:
            try:
                peak = peak_bytes(self.graph, self._freed, sizes)
            except FAILURES as error:
                raise self._error(
                    f"cannot be computed for these inputs: {str(error)[:300]}", "Pass other sizes."
                ) from None
            if len(self._peaks) < _MAX_CACHED:
                self._peaks[key] = peak
        free = psutil.virtual_memory().available
        if self.device is CPU and peak > free:
            raise self._error(
                f"needs {peak:,} bytes of memory for these inputs, but {free:,} are free", "Pass fewer samples."
            )

    def _guarded(self, op: str, node: str, function: Any, *args: Any) -> Any:
        try:
            return function(*args)
        except MemoryError as error:
            raise self._error(
                f"{op} of {_node(node)} needs more memory than is free: {str(error)[:200]}",
                "Pass fewer samples.",
            ) from None
        except FAILURES as error:
            problem = str(error)[:300].rstrip(".")
            raise self._error(
                f"{op} of {_node(node)} cannot be computed: {problem}", "Check the values of the inputs."
            ) from error

    def _error(self, problem: str, remedy: str) -> ArtifactError:
        return ArtifactError(f"{self._location}: {problem}. {remedy}", reason=problem)


def _node(name: str) -> str:
    """A node in an error."""
    return printable(name) or "the graph"


__all__ = ["GraphRunner"]
