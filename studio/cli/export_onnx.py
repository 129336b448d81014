"""Exports to ONNX for the command `export`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from engine.onnx.errors import OnnxExportError
from studio.cli.error_output import FAILED, InputError, print_error, print_json, print_text
from studio.cli.error_reporting import exit_with_error, report_errors
from studio.export import ExportError
from studio.export.onnx_export import OnnxExport, export_project
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report


def export_onnx(
    report: Report,
    target: Path,
    *,
    name: str,
    base: Path,
    weights: Path | None,
    opset: int,
    preprocessing: bool,
    as_json: bool,
) -> None:
    """Write an ONNX file, print how its outputs differ, and exit with an error if they differ too much."""
    with report_errors(as_json=as_json):
        if target.suffix != ".onnx":
            raise InputError(f"--out {target}: the file name must end in .onnx.")
        try:
            result = export_project(
                report, target, name=name, base=base, weights=weights, opset=opset, preprocessing=preprocessing
            )
        except ImportError as error:
            raise InputError(str(error)) from None
        except ExportError as error:
            exit_with_error(Problem("error", "not-exported", str(error), node=error.node), as_json=as_json)
        except OnnxExportError as error:
            problem = Problem("error", "onnx-unsupported", str(error), node=error.node or None)
            exit_with_error(problem, as_json=as_json)
    if weights is None and report.document.weights is None:
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
