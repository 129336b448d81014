"""Translates a traced graph to an ONNX model."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.backend import MetaArray
from engine.graph import SourceLocation
from engine.onnx.errors import OnnxExportError
from engine.onnx.graph_builder import GraphBuilder
from engine.onnx.optional_packages import ir, ir_passes
from engine.onnx.translators import LAYER_TRANSLATORS, REASONS, TRANSLATORS, NotExpressible
from engine.ops.record import REGISTRY, Op
from engine.shape import Dim
from engine.tensors.dispatch.promotion import promote
from engine.tracing.traced_graph import TracedGraph, TracedOp, TracedValue, needed_ops
from engine.version import __version__

IR_VERSIONS = {18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11}
"""Version of the file format that came with each opset."""
TRANSLATOR_MODULES = (
    "elementwise", "indexing", "linear_algebra", "movement", "normalization", "recurrent", "reductions", "spatial",
    "unsupported",
)  # fmt: skip


@dataclass(frozen=True)
class ExportedModel:
    """An ONNX model with the trace that it was made of."""

    model: Any
    """An `onnx_ir.Model`."""
    graph: TracedGraph
    values: tuple[tuple[TracedValue, Any], ...]
    """Results of traced ops, and the values of the ONNX graph that hold them."""

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs that the model's caller passes, without those of random numbers."""
        return tuple(each.name for each in self.model.graph.inputs[: len(self.graph.inputs)])

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.model.graph.outputs)


def register_translators() -> None:
    """Import the modules that declare translators."""
    for name in TRANSLATOR_MODULES:
        importlib.import_module(f"engine.onnx.ops.{name}")
    importlib.import_module("engine.onnx.layers")


def write_model(
    graph: TracedGraph,
    opset: int,
    output_names: Sequence[str],
    describe_location: Callable[[str, SourceLocation], str],
) -> ExportedModel:
    """Translate a traced graph to an ONNX model.

    Args:
        opset: version of ONNX's operators
        output_names: names of the outputs
        describe_location: text for the node and line of an op, in errors

    Raises:
        OnnxExportError: an op cannot be expressed.
    """
    builder = GraphBuilder(opset)
    builder.reserve_names(output_names)
    for value in (*graph.inputs, *(each.value for each in graph.random_inputs)):
        builder.input(value)
    for op in needed_ops(list(graph.ops), graph.outputs):
        builder.current = op
        try:
            _translate(builder, op)
        except (NotExpressible, LookupError, NotImplementedError) as error:
            raise _export_error(op, str(error), describe_location) from None
    builder.current = TracedOp("", (), {})
    for name, value in zip(output_names, graph.outputs, strict=True):
        builder.output(value, name)
    model = ir.Model(
        builder.graph, ir_version=IR_VERSIONS[opset], producer_name="gradwire", producer_version=__version__
    )
    ir_passes.RemoveUnusedNodesPass()(model)
    left = {value for node in builder.graph for value in node.outputs}
    values = [(traced, value) for value, traced in builder.traced.items() if value in left]
    return ExportedModel(model, graph, tuple(values))


def _translate(builder: GraphBuilder, op: TracedOp) -> None:
    inputs = [builder.operand(each) for each in op.inputs]
    if op.layer is not None:
        found = LAYER_TRANSLATORS[type(op.layer)].function(builder, op.layer, *inputs)
    else:
        translator = TRANSLATORS.get(op.name)
        if translator is None or builder.opset < translator.since:
            reason = REASONS.get(op.name, "it has no translator")
            raise NotExpressible(reason if translator is None else f"it needs opset {translator.since}")
        record = REGISTRY.get(op.name)
        if record is not None:
            inputs = _promoted(builder, record, op, inputs)
        statics = {name: value for name, value in op.statics.items() if name != "out"}
        found = translator.function(builder, *inputs, **statics)
    results = found if isinstance(found, (tuple, list)) else (found,)
    for traced, value in zip(op.outputs, results, strict=False):
        if value is not None:
            value = builder.cast(value, traced.spec.dtype)
            if value in builder.traced or value.is_graph_input() or value.is_initializer():
                value = builder.op("Identity", value)
            builder.describe(value, traced.spec)
            builder.bind(traced, value)


def _promoted(builder: GraphBuilder, record: Op, op: TracedOp, inputs: list[Any]) -> list[Any]:
    """The inputs in the dtype that the engine computes in; numbers become constants."""
    if not record.promotes:
        return inputs
    arrays: list[Any] = [
        MetaArray(builder.spec(each).shape, builder.dtype(each).numpy) if isinstance(each, ir.Value) else each
        for each in inputs
    ]
    if record.name == "assign":  # the value is converted to the dtype of the target
        return inputs
    dtype = promote(record, [2 if isinstance(each, Dim) else each for each in arrays])
    if dtype is None:
        return inputs
    return [
        each if each is None or index in record.unpromoted else builder.cast(each, dtype)
        for index, each in enumerate(inputs)
    ]


def _export_error(
    op: TracedOp, reason: str, describe_location: Callable[[str, SourceLocation], str]
) -> OnnxExportError:
    reason = reason.strip("'")
    text = f"{describe_location(op.node, op.where)}: {op.name} cannot be exported to ONNX: {reason}."
    if not reason.endswith((".", "!")) and "Export" not in reason and "Set " not in reason:
        text += " Replace it, or export a part of the model without it."
    return OnnxExportError(text, node=op.node, op=op.name, reason=reason, location=op.where)


__all__ = ["register_translators", "write_model"]
