"""`engine.onnx.export`: writes a model as an ONNX file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.errors import DeviceError, EngineError
from engine.graph import SourceLocation
from engine.modes import MODES, no_grad
from engine.nn.module import Module
from engine.onnx.errors import OnnxExportError
from engine.onnx.model_writer import ExportedModel, register_translators, write_model
from engine.onnx.optional_packages import ir, onnx, require_packages
from engine.onnx.traced_graph import TracedGraph
from engine.onnx.tracer import NodeNamer, Tracer, innermost_module
from engine.onnx.translators import DEFAULT_OPSET, LAYER_TRANSLATORS, NEWEST_OPSET, OLDEST_OPSET
from engine.shape import Dim, Spec, format_shape
from engine.tensors import Tensor

EXTERNAL_DATA_BYTES = 1_500_000_000
"""Weights of more bytes are written to a second file: ONNX files are limited to 2 GB."""

DynamicShapes = Mapping[str, Any] | Sequence[Any] | None


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
        args: example inputs: a tensor or a tuple of tensors. Only their shapes and dtypes count
        f: output file. Weights above 1.5 GB go to a file beside it, FILE.data
        input_names: names of the inputs; default: the argument names of the forward method
        output_names: names of the outputs; default: output, or output_0, output_1, …
        dynamic_shapes: for each input, its open dimensions: ``{"x": {0: "N"}}`` or ``({0: "N"},)``
        dynamic_axes: the same by input name: ``{"x": {0: "N"}}`` or ``{"x": [0]}``
        opset_version: version of ONNX's operators, 18 to 23

    Returns:
        the model as an `onnx_ir.Model`.

    Raises:
        OnnxExportError: the model has an op that ONNX cannot express, or its Python code depends on values of tensors.
        ImportError: the extra `onnx` is not installed.
    """
    require_packages()
    tensors = (args,) if isinstance(args, Tensor) else tuple(args)
    names = _input_names(model, len(tensors), input_names)
    shapes = _open_dimensions(names, dynamic_shapes, dynamic_axes)
    specs = [_open_spec(name, tensor, shapes.get(name, {})) for name, tensor in zip(names, tensors, strict=True)]
    found = build_model(model, dict(zip(names, specs, strict=True)), output_names, opset=opset_version)
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
    describe_location: Callable[[str, SourceLocation], str] | None = None,
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
    describe = describe_location or _default_location
    module = model if isinstance(model, Module) else weights
    graph = trace_model(model, module, inputs, opset, node_name, describe)
    names = _output_names(output_names, len(graph.outputs))
    return write_model(graph, opset, names, describe)


def trace_model(
    model: Callable[..., Any],
    module: Module | None,
    inputs: Mapping[str, Spec],
    opset: int,
    node_name: NodeNamer,
    describe: Callable[[str, SourceLocation], str],
) -> TracedGraph:
    """Run a model without values and record its ops.

    Raises:
        OnnxExportError: the Python code of the model depends on values of tensors.
    """

    def match_layer(layer: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        translator = LAYER_TRANSLATORS.get(type(layer))
        return None if translator is None or opset < translator.since else translator.accepts(layer, args, kwargs)

    tracer = Tracer(module, node_name, match_layer)
    with evaluation_mode(module), no_grad(), tracer:
        tensors = [tracer.input(name, spec) for name, spec in inputs.items()]
        values = tuple(tracer.value_of(tensor) for tensor in tensors)
        try:
            result = model(*tensors)
        except EngineError as error:
            raise _tracing_error(error, tracer, describe) from error
        outputs = tuple(tracer.value_of(each) for each in tensors_of(result))
    return TracedGraph(values, outputs, tuple(tracer.ops), tuple(tracer.random_inputs))


def _tracing_error(
    error: EngineError, tracer: Tracer, describe: Callable[[str, SourceLocation], str]
) -> OnnxExportError:
    """The error for a model whose Python code cannot run without values."""
    if isinstance(error, OnnxExportError):
        return error
    node, where = tracer.origin_of(error)
    if isinstance(error, DeviceError):
        reason = "the code depends on values of tensors, which are unknown while a model is exported"
        remedy = "Use engine.where() and other ops in place of if, int() and .item()."
    else:
        reason, remedy = str(error).rstrip("."), "Compute sizes from shapes of the inputs only."
    return OnnxExportError(f"{describe(node, where)}: {reason}. {remedy}", node=node, reason=reason, location=where)


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


@contextmanager
def evaluation_mode(module: Module | None) -> Iterator[None]:
    """Context in which a module and its submodules are in evaluation mode."""
    before = [] if module is None else [(each, each.training) for each in module.modules()]
    try:
        if module is not None:
            module.eval()
        yield
    finally:
        for each, training in before:
            each.training = training


def tensors_of(result: Any) -> Iterator[Tensor]:
    """The tensors in a result, in order; also in nested tuples, lists and dicts."""
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, Mapping):
        for each in result.values():
            yield from tensors_of(each)
    elif isinstance(result, (tuple, list)):
        for each in result:
            yield from tensors_of(each)


def _input_names(model: Any, number: int, given: Sequence[str] | None) -> list[str]:
    if given is not None:
        if len(given) != number:
            raise ValueError(f"export: {number} inputs need {number} input_names, not {len(given)}")
        return list(given)
    function = model.forward if isinstance(model, Module) else model
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    found = [] if code is None else [name for name in code.co_varnames[: code.co_argcount] if name != "self"]
    return found[:number] if len(found) >= number else [f"input_{index}" for index in range(number)]


def _output_names(given: Sequence[str] | None, number: int) -> list[str]:
    if given is None:
        return ["output"] if number == 1 else [f"output_{index}" for index in range(number)]
    if len(given) != number:
        raise ValueError(f"export: the model has {number} outputs, but output_names has {len(given)}")
    return list(given)


def _open_dimensions(
    names: Sequence[str], shapes: DynamicShapes, axes: Mapping[str, Any] | None
) -> dict[str, dict[int, str]]:
    """The names of open dimensions by input and dimension."""
    if shapes is not None and axes is not None:
        raise ValueError("export: pass dynamic_shapes or dynamic_axes, not both")
    given = shapes if shapes is not None else axes
    if given is None:
        return {}
    pairs = given.items() if isinstance(given, Mapping) else zip(names, given, strict=False)
    found: dict[str, dict[int, str]] = {}
    for name, dims in pairs:
        if isinstance(dims, Mapping):
            found[name] = {int(axis): str(size) for axis, size in dims.items() if size is not None}
        elif dims is not None:
            is_axes = axes is not None
            listed = ((axis, f"{name}_dim_{axis}") for axis in dims) if is_axes else enumerate(dims)
            found[name] = {int(axis): str(size) for axis, size in listed if isinstance(size, (str, Dim))}
    return found


def _open_spec(name: str, tensor: Tensor, dims: Mapping[int, str]) -> Spec:
    shape: list[Any] = list(tensor.shape)
    for axis, size in dims.items():
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"export: input {name} ({format_shape(shape)}) has no dimension {axis}")
        shape[axis] = Dim(size)
    return Spec(tuple(shape), tensor.dtype)


def _default_location(node: str, where: SourceLocation) -> str:
    line = "" if where is None else f" ({where[0]}:{where[1]})"
    return f"{node or 'The model'}{line}"


__all__ = [
    "EXTERNAL_DATA_BYTES",
    "build_model",
    "evaluation_mode",
    "export",
    "is_in_onnx_export",
    "save_model",
    "tensors_of",
]
