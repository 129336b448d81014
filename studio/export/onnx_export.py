"""Exports the network of a project to ONNX, and compares the file with the network on the project's data."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import Tensor, fit, nn
from engine.onnx.comparison import Comparison, compare
from engine.onnx.errors import OnnxExportError
from engine.onnx.exporter import build_model, save_model
from engine.onnx.model_writer import ExportedModel
from engine.onnx.translators import DEFAULT_OPSET
from engine.shape import format_shape
from engine.tracing.differences import TOLERANCE
from studio.export.model_call import ModelCall, evaluation_batches, first_call, input_names, model_call, output_names
from studio.export.network_trace import apply_transforms, describe_node, node_namer, open_spec, traceable_samples
from studio.export.raw_samples import RawSamples, UnsupportedSamplesError
from studio.lowering.program import Program, lower
from studio.lowering.report import Report
from studio.training.prediction import load_task_weights

COMPARED_SAMPLES = 1000
"""Maximum number of samples that the file is compared on."""
_BATCH_SIZE = 64


@dataclass(frozen=True, slots=True)
class OnnxExport:
    """A written file, and how its outputs differ from those of the network."""

    path: Path
    opset: int
    inputs: tuple[str, ...]
    """Name, shape and dtype of each input."""
    outputs: tuple[str, ...]
    nodes: int
    bytes: int
    comparison: Comparison


def export_project(
    report: Report,
    path: Path,
    *,
    name: str,
    base: Path | None = None,
    weights: Path | None = None,
    opset: int = DEFAULT_OPSET,
    preprocessing: bool = False,
    tolerance: float = TOLERANCE,
) -> OnnxExport:
    """Write the network of a checked project as an ONNX file, and run the file on the project's data.

    Args:
        report: result of the check, without errors
        path: output file
        name: name of the project
        base: folder of the project file
        weights: run, checkpoint or weights file; default: those that trainings of the project start from
        opset: version of ONNX's operators
        preprocessing: the file contains the validation transforms of the inputs
        tolerance: largest accepted difference, relative to the largest number of an output

    Raises:
        OnnxExportError: a node cannot be expressed in ONNX.
        ExportError: the data has no samples.
        ImportError: the extra `onnx` is not installed.
        LoweringError: the report has errors.
        FileError: the weights belong to another graph.
    """
    program = lower(report, name)
    task = program.build(seed=report.document.training.seed)
    task.setup()
    load_task_weights(task, report.document, base, weights)
    call = first_call(task)
    samples = _samples(task, call) if preprocessing else None
    exported = _build(program, task, call, samples, opset)
    save_model(exported.model, path)
    graph = exported.model.graph
    return OnnxExport(
        path,
        opset,
        tuple(map(_described, graph.inputs)),
        tuple(map(_described, graph.outputs)),
        len(list(graph.all_nodes())),
        sum(os.path.getsize(each) for each in (path, path.with_name(f"{path.name}.data")) if each.exists()),
        _compared(exported, task, samples, path, tolerance),
    )


def _build(program: Program, task: fit.Task, call: ModelCall, samples: RawSamples | None, opset: int) -> ExportedModel:
    """Translate the model, with the transforms of its first input if `samples` are given."""
    names = input_names(task)[: len(call.arguments)]
    tensors = list(call.arguments)
    model: Callable[..., Any] = task.model
    if samples is not None:
        first = next(samples.batches(1, 1))[0]
        tensors[0] = first
        model = _with_transforms(task.model, samples)
    specs = {name: open_spec(tensor) for name, tensor in zip(names, tensors, strict=True)}
    return build_model(
        model,
        specs,
        output_names(program),
        opset=opset,
        weights=task.model,
        node_name=node_namer(program),
        describe_location=describe_node,
    )


def _with_transforms(model: nn.Module, samples: RawSamples) -> Callable[..., Any]:
    def run(raw: Tensor, *rest: Tensor) -> Any:
        return model(apply_transforms(samples, raw), *rest)

    return run


def _samples(task: fit.Task, call: ModelCall) -> RawSamples:
    """The samples of a task, with transforms that a file can contain. Raises OnnxExportError."""
    try:
        return traceable_samples(task, call, "ONNX")
    except UnsupportedSamplesError as error:
        reason = str(error)
    raise OnnxExportError(
        f"The file cannot contain the preprocessing: {reason}. Export without --preprocessing, and apply the "
        "transforms before you run the file.",
        reason=reason,
    )


def _compared(
    exported: ExportedModel, task: fit.Task, samples: RawSamples | None, path: Path, tolerance: float
) -> Comparison:
    """Run the file on the validation data."""
    if samples is None:
        batches = (model_call(task, each).arguments for each in evaluation_batches(task, COMPARED_SAMPLES))
        return compare(exported, task.model, batches, path=path, tolerance=tolerance)
    pairs = list(samples.batches(COMPARED_SAMPLES, _BATCH_SIZE))
    transformed = iter(pairs)

    def run(raw: Tensor) -> Any:
        return task.model(next(transformed)[1])

    return compare(exported, run, ((raw,) for raw, _ in pairs), path=path, tolerance=tolerance, weights=task.model)


def _described(value: Any) -> str:
    sizes = format_shape(getattr(size, "value", size) for size in value.shape)
    return f"{value.name} {sizes} {value.dtype.numpy().name}"


__all__ = ["COMPARED_SAMPLES", "OnnxExport", "export_project"]
