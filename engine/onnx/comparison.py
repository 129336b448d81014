"""Compares an exported model in onnxruntime with the model in the engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.nn.module import Module
from engine.onnx.model_writer import ExportedModel
from engine.onnx.optional_packages import ir, onnxruntime
from engine.random import RandomNumbers, default_generator, manual_seed
from engine.tensors import Tensor
from engine.tracing.differences import TOLERANCE, difference
from engine.tracing.model_trace import model_outputs
from engine.tracing.op_evaluation import named_sizes, with_sizes
from engine.tracing.trace_interpreter import interpret
from engine.tracing.traced_graph import TracedOp


@dataclass(frozen=True, slots=True)
class Comparison:
    """How outputs in onnxruntime differ from the engine's."""

    samples: int
    absolute: float
    """Largest difference of an element."""
    relative: float
    """Largest difference relative to the largest number of the output; infinite for NaN in one of them."""
    output: str
    """Name of the output with the largest relative difference."""
    node: str = ""
    """First node whose result differs by more than the tolerance."""
    op: str = ""
    """Its op."""

    @property
    def agrees(self) -> bool:
        return not self.op


def compare(
    exported: ExportedModel,
    model: Module | Callable[..., Any],
    batches: Iterable[Sequence[Tensor]],
    *,
    path: str | os.PathLike[str] | None = None,
    tolerance: float = TOLERANCE,
    weights: Module | None = None,
) -> Comparison:
    """Run a model in the engine and in onnxruntime.

    Args:
        exported: the model as `build_model` returned it
        model: the model in the engine; it runs in evaluation mode
        batches: inputs of the model
        path: the file to run; default: the model in memory
        tolerance: largest accepted relative difference
        weights: the module that a function calls; default: the model

    Returns:
        the differences; above the tolerance, with the first node whose result differs.
    """
    session = _session(exported.model, path)
    module = model if isinstance(model, Module) else weights
    worst = Comparison(0, 0.0, 0.0, exported.output_names[0] if exported.output_names else "")
    for number, batch in enumerate(batches):
        feeds = {name: tensor.numpy(force=True) for name, tensor in zip(exported.input_names, batch, strict=True)}
        size = len(batch[0]) if batch and batch[0].ndim else 1
        feeds |= _random_feeds(exported, feeds, number)
        found = session.run(None, _used(session, feeds))
        expected = model_outputs(model, module, batch, number)
        for name, theirs, ours in zip(exported.output_names, found, expected, strict=True):
            absolute, relative = difference(theirs, ours)
            if relative > worst.relative or not worst.samples:
                worst = Comparison(worst.samples, max(worst.absolute, absolute), relative, name)
            worst = Comparison(worst.samples, max(worst.absolute, absolute), worst.relative, worst.output)
        worst = Comparison(worst.samples + size, worst.absolute, worst.relative, worst.output)
        if worst.relative > tolerance:
            first = first_difference(exported, feeds, tolerance)
            node, op = ("", worst.output) if first is None else (first.node, first.name)
            return Comparison(worst.samples, worst.absolute, worst.relative, worst.output, node, op)
    return worst


def first_difference(exported: ExportedModel, feeds: dict[str, Any], tolerance: float) -> TracedOp | None:
    """The first traced op whose result in onnxruntime differs; None if none does."""
    values = interpret(exported.graph, feeds)
    graph = exported.model.graph
    numbers = {id(op): number for number, op in enumerate(exported.graph.ops)}
    watched = sorted(exported.values, key=lambda pair: numbers[id(pair[0].producer)])
    added = [value for _, value in watched if not value.is_graph_output()]
    before = len(graph.outputs)
    graph.outputs.extend(added)
    try:
        session = _session(exported.model, None)
    finally:
        del graph.outputs[before:]
    names = [each.name for each in session.get_outputs()]
    found = dict(zip(names, session.run(None, _used(session, feeds)), strict=True))
    for traced, value in watched:
        if difference(found[value.name], values[id(traced)])[1] > tolerance:
            return traced.producer
    return None


def _session(model: Any, path: str | os.PathLike[str] | None) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    source = ir.to_proto(model).SerializeToString() if path is None else os.fspath(path)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def _used(session: Any, feeds: dict[str, Any]) -> dict[str, Any]:
    return {each.name: feeds[each.name] for each in session.get_inputs()}


def _random_feeds(exported: ExportedModel, feeds: dict[str, Any], seed: int) -> dict[str, Any]:
    """The random numbers that the engine draws from a seed."""
    manual_seed(seed)
    graph = exported.graph
    named = zip(graph.inputs, exported.input_names, strict=True)
    sizes = named_sizes((value.spec, feeds[name].shape) for value, name in named)
    found: dict[str, Any] = {}
    for each, value in zip(graph.random_inputs, exported.model.graph.inputs[len(graph.inputs) :], strict=True):
        spec = each.value.spec
        shape = with_sizes(spec.shape, sizes)
        numbers = RandomNumbers(default_generator, each.distribution, each.first, each.second).draw(shape, spec.dtype)
        found[value.name] = found[each.value.name] = np.asarray(numbers).astype(spec.dtype.numpy)
    return found


__all__ = ["Comparison", "compare", "first_difference"]
