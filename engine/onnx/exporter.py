"""`engine.onnx.export`: writes a model as an ONNX file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.modes import MODES
from engine.nn.module import Module
from engine.onnx.errors import OnnxExportError
from engine.onnx.model_writer import ExportedModel, register_translators, write_model
from engine.onnx.optional_packages import ir, onnx, require_packages
from engine.onnx.translators import DEFAULT_OPSET, LAYER_TRANSLATORS, NEWEST_OPSET, OLDEST_OPSET
from engine.shape import Spec
from engine.tensors import Tensor
from engine.tracing.example_inputs import DynamicShapes, input_specs, numbered_output_names
from engine.tracing.model_trace import LocationText, default_location, model_outputs, trace_model
from engine.tracing.size_comparison import compare_small_sizes
from engine.tracing.trace_interpreter import interpret
from engine.tracing.tracer import NodeNamer, innermost_module

EXTERNAL_DATA_BYTES = 1_500_000_000
"""Weights of more bytes are written to a second file: ONNX files are limited to 2 GB."""


def export(
    model: Module | Callable[..., Any],
    args: Any,
    f: str | os.PathLike[str],
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_shapes: DynamicShapes = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    opset_version: int = DEFAULT_OPSET,
) -> Any:
    """Write a model as an ONNX file. It is exported in evaluation mode, and its mode is restored.

    Args:
        model: a module, or a function of tensors
        args: example inputs: a tensor or a tuple of tensors. Their values are only used to compare results
        f: output file. Weights above 1.5 GB go to a file beside it, FILE.data
        input_names: names of the inputs; default: the argument names of the forward method
        output_names: names of the outputs; default: output, or output_0, output_1, …
        dynamic_shapes: for each input, its open dimensions: ``{"x": {0: "N"}}`` or ``({0: "N"},)``
        dynamic_axes: the same by input name: ``{"x": {0: "N"}}`` or ``{"x": [0]}``
        opset_version: version of ONNX's operators, 18 to 23

    Returns:
        the model as an `onnx_ir.Model`.

    Raises:
        OnnxExportError: the model has an op that ONNX cannot express, its Python code depends on values of tensors, or
            it compares a symbolic size with 1 or 2.
        ImportError: the extra `onnx` is not installed.
    """
    require_packages()
    tensors = (args,) if isinstance(args, Tensor) else tuple(args)
    specs = input_specs(model, tensors, input_names, dynamic_shapes, dynamic_axes)
    found = build_model(model, specs, output_names, opset=opset_version)
    if isinstance(model, Module):
        _check_small_sizes(found, model, list(specs.values()), tensors)
    save_model(found.model, f)
    return found.model


def build_model(
    model: Module | Callable[..., Any],
    inputs: Mapping[str, Spec],
    output_names: Sequence[str] | None = None,
    *,
    opset: int = DEFAULT_OPSET,
    weights: Module | None = None,
    node_name: NodeNamer = innermost_module,
    describe_location: LocationText | None = None,
) -> ExportedModel:
    """Translate a model to an ONNX model.

    Args:
        model: a module, or a function of tensors
        inputs: shapes, with symbolic sizes, and dtypes of the inputs by name
        output_names: names of the outputs
        opset: version of ONNX's operators
        weights: the module that a function calls, whose weights keep their names; default: the model
        node_name: names the node of each op; default: the path of its module
        describe_location: text for the node and line of an op in errors

    Raises:
        OnnxExportError: see `export`.
    """
    require_packages()
    register_translators()
    if not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        raise OnnxExportError(f"opset {opset} is not supported. Use {OLDEST_OPSET} to {NEWEST_OPSET}.")
    describe = describe_location or default_location

    def match_layer(layer: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        translator = LAYER_TRANSLATORS.get(type(layer))
        return None if translator is None or opset < translator.since else translator.accepts(layer, args, kwargs)

    graph = trace_model(
        model,
        model if isinstance(model, Module) else weights,
        inputs,
        node_name=node_name,
        describe=describe,
        match_layer=match_layer,
        error_type=OnnxExportError,
    )
    return write_model(graph, opset, numbered_output_names(output_names, len(graph.outputs)), describe)


def _check_small_sizes(found: ExportedModel, model: Module, specs: Sequence[Spec], sample: Sequence[Tensor]) -> None:
    """Raise OnnxExportError if the graph differs from a module for one or two rows of the inputs."""
    graph = found.graph
    if graph.random_inputs or any(each.is_meta for each in sample):
        return

    def outputs(inputs: Sequence[Tensor]) -> list[Any]:
        arrays = {value.name: each.numpy(force=True) for value, each in zip(graph.inputs, inputs, strict=True)}
        values = interpret(graph, arrays)
        return [values.get(id(each), each.array) for each in graph.outputs]

    names = found.output_names
    compare_small_sizes(
        outputs, lambda inputs: model_outputs(model, model, inputs, 0), specs, sample, names, OnnxExportError
    )


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Check a model and write it to a file; large weights go to a file beside it.

    Raises:
        OnnxExportError: the model is no valid ONNX model.
    """
    target = Path(path)
    size = sum(value.const_value.nbytes for value in model.graph.initializers.values())
    if size > EXTERNAL_DATA_BYTES:
        ir.save(model, target, external_data=f"{target.name}.data")
        _check_model(os.fspath(target), target)
    else:
        _check_model(ir.to_proto(model), target)
        ir.save(model, target)


def _check_model(model: Any, path: Path) -> None:
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise OnnxExportError(
            f"{path}: the exporter made an invalid ONNX model: {error}. Report this as a bug of the exporter."
        ) from error


def is_in_onnx_export() -> bool:
    """Return whether a model is being exported in this thread."""
    return MODES.tracer is not None


__all__ = [
    "EXTERNAL_DATA_BYTES",
    "build_model",
    "export",
    "is_in_onnx_export",
    "save_model",
]
