"""Runs a graph of an artifact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import psutil

from engine.backend import CPU, Device
from engine.export.errors import ArtifactError
from engine.export.graph_check import FAILURES
from engine.modes import no_grad
from engine.ops.record import REGISTRY
from engine.random import RandomNumbers, default_generator
from engine.shape import count, format_shape
from engine.tensors import Tensor
from engine.tensors.creation import from_array
from engine.tracing.op_evaluation import evaluate, named_sizes, with_sizes
from engine.tracing.traced_graph import TracedGraph, TracedOp, TracedValue

_MAX_CACHED = 64
"""Sizes of inputs whose memory is remembered."""


class GraphRunner:
    """Runs a checked graph op by op. Values are freed after their last use. Threads can share a runner.

    Args:
        graph: checked graph
        place: file and graph, for errors
        device: device of the weights and the computation
    """

    def __init__(self, graph: TracedGraph, place: str, device: Device = CPU) -> None:
        self.graph, self.device = graph, device
        self._place = place
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
        self._checked: dict[tuple[int, ...], None] = {}

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
        with no_grad():
            for drawn in graph.random_inputs:
                shape, dtype = with_sizes(drawn.value.spec.shape, sizes), drawn.value.spec.dtype
                numbers = RandomNumbers(default_generator, drawn.distribution, drawn.first, drawn.second)
                array = self._guarded(drawn.distribution, drawn.value.name, numbers.draw, shape, dtype)
                values[id(drawn.value)] = from_array(np.asarray(array).astype(dtype.numpy)).to(self.device)
            for op, freed in zip(graph.ops, self._freed, strict=True):
                self._compute(op, values, sizes)
                for key in freed:
                    del values[key]
            return tuple(self._output(value, values) for value in graph.outputs)

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
                found = f"gave {format_shape(result.shape)} in place of {format_shape(expected)}"
                raise self._error(f"{op.name} of {op.node or 'the graph'} {found}", "Export the artifact again.")
            values[id(value)] = result.to(self.device)

    def _output(self, value: TracedValue, values: dict[int, Tensor]) -> Tensor:
        """An output in memory that no weight and no input shares."""
        found = values[id(value)] if id(value) in values else self._weights[id(value)]
        return found.clone() if value.producer is None or found._base is not None else found

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
        """Raises ArtifactError if the values of the graph do not fit into the free memory. Views take none."""
        key = tuple(sizes.values())
        if key in self._checked:
            return
        held = peak = 0
        bytes_of: dict[int, int] = {}
        for op, freed in zip(self.graph.ops, self._freed, strict=True):
            is_view = op.name in REGISTRY and REGISTRY[op.name].view
            for value in op.outputs:
                needed = count(with_sizes(value.spec.shape, sizes)) * value.spec.dtype.itemsize
                bytes_of[id(value)] = 0 if is_view else needed
                held += bytes_of[id(value)]
            peak = max(peak, held)
            held -= sum(bytes_of.get(each, 0) for each in freed)
        free = psutil.virtual_memory().available
        if self.device is CPU and peak > free:
            raise self._error(
                f"needs {peak:,} bytes of memory for these inputs, but {free:,} are free", "Pass fewer samples."
            )
        if len(self._checked) < _MAX_CACHED:
            self._checked[key] = None

    def _guarded(self, op: str, node: str, function: Any, *args: Any) -> Any:
        try:
            return function(*args)
        except MemoryError as error:
            raise self._error(
                f"{op} of {node or 'the graph'} needs more memory than is free: {str(error)[:200]}",
                "Pass fewer samples.",
            ) from None
        except FAILURES as error:
            problem = str(error)[:300].rstrip(".")
            raise self._error(
                f"{op} of {node or 'the graph'} cannot be computed: {problem}", "Check the values of the inputs."
            ) from error

    def _error(self, problem: str, remedy: str) -> ArtifactError:
        return ArtifactError(f"{self._place}: {problem}. {remedy}", reason=problem)


__all__ = ["GraphRunner"]
