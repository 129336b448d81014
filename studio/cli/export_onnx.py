"""The command `export-onnx`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from engine.onnx.errors import OnnxExportError
from engine.onnx.translators import DEFAULT_OPSET, NEWEST_OPSET, OLDEST_OPSET
from studio.cli.error_output import FAILED, InputError, print_error, print_json, print_text
from studio.cli.error_reporting import exit_with_error, report_errors
from studio.cli.shared_options import Assignments, File, Json, Trust, check_or_exit, read_project
from studio.cli.training_options import find_weights
from studio.export.onnx_export import OnnxExport, export_project
from studio.lowering.problems.problem import Problem


def export_onnx(
    file: File,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Output file, .onnx (default: NAME.onnx).")
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            "--weights",
            "-w",
            metavar="WEIGHTS",
            help="Number, name or folder of a run (its last weights), or a checkpoint or weights file "
            "(default: initial weights).",
        ),
    ] = None,
    opset: Annotated[
        int, typer.Option(metavar="N", min=OLDEST_OPSET, max=NEWEST_OPSET, help="Version of ONNX's operators.")
    ] = DEFAULT_OPSET,
    preprocessing: Annotated[
        bool, typer.Option("--preprocessing", help="Include the validation transforms of the inputs.")
    ] = False,
    assignments: Assignments = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    target = file.with_suffix(".onnx") if out is None else out
    with report_errors(as_json=as_json):
        if target.suffix != ".onnx":
            raise InputError(f"--out {target}: the file name must end in .onnx.")
        report = check_or_exit(file, read_project(file, assignments, trust=trust), as_json=as_json)
        try:
            result = export_project(
                report,
                target,
                name=file.stem,
                weights=None if weights is None else find_weights(file, weights),
                opset=opset,
                preprocessing=preprocessing,
            )
        except ImportError as error:
            raise InputError(str(error)) from None
        except OnnxExportError as error:
            problem = Problem("error", "onnx-unsupported", str(error), node=error.node or None)
            exit_with_error(problem, as_json=as_json)
    if weights is None:
        print_error("The file has initial weights, because no --weights are given.", "warning")
    _print_result(result, as_json=as_json)
    if not result.comparison.agrees:
        problem = Problem("error", "onnx-differs", _difference_text(result), node=result.comparison.node or None)
        exit_with_error(problem, as_json=as_json, code=FAILED)


def _print_result(result: OnnxExport, *, as_json: bool) -> None:
    comparison = result.comparison
    if as_json:
        shown = {name: getattr(result, name) for name in ("opset", "inputs", "outputs", "nodes", "bytes")}
        print_json({"event": "exported", "out": str(result.path), **shown, "comparison": asdict(comparison)})
        return
    print_text(f"{result.path}: opset {result.opset}, {result.nodes} nodes, {result.bytes / 1e6:.2f} MB")
    for name, values in (("Input", result.inputs), ("Output", result.outputs)):
        for value in values:
            print_text(f"{name}: {value}")
    print_text(
        f"Compared in onnxruntime on {comparison.samples} samples: largest difference {comparison.absolute:.2g}, "
        f"relative {comparison.relative:.2g}"
    )


def _difference_text(result: OnnxExport) -> str:
    comparison = result.comparison
    place = f"The first difference is in {comparison.node or 'the network'} ({comparison.op})."
    return (
        f"{result.path} differs from the network: output {comparison.output} by {comparison.absolute:.2g}, relative "
        f"{comparison.relative:.2g}. {place} Report this with the project, and do not use the file."
    )


__all__ = ["export_onnx"]
