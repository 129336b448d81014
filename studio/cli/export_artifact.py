"""Exports of artifacts for the command `export`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from engine.export.artifact_records import ARTIFACT_SUFFIX
from studio.cli.error_output import InputError, print_error, print_json, print_text
from studio.cli.error_reporting import exit_with_error, report_errors
from studio.export import ExportError
from studio.export.artifact_export import ArtifactExport, export_artifact
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report


def write_artifact(report: Report, target: Path, *, name: str, base: Path, weights: Path | None, as_json: bool) -> None:
    """Write an artifact and print how its outputs differ. If they differ too much, nothing is written."""
    try:
        with report_errors(as_json=as_json):
            if target.suffix != ARTIFACT_SUFFIX:
                raise InputError(f"--out {target}: the file name must end in {ARTIFACT_SUFFIX}.")
            result = export_artifact(report, target, name=name, base=base, weights=weights)
    except ExportError as error:
        exit_with_error(Problem("error", "not-exported", str(error), node=error.node), as_json=as_json)
    if weights is None and report.document.weights is None:
        print_error("The file has initial weights, because no --weights are given.", "warning")
    if result.without_preprocessing:
        print_error(
            f"The file has no preprocessing: {result.without_preprocessing}. Apply the transforms before you run it.",
            "warning",
        )
    _print_result(result, as_json=as_json)


def _print_result(result: ArtifactExport, *, as_json: bool) -> None:
    artifact, verification = result.artifact, result.verification
    inputs, outputs = map(str, artifact.inputs), map(str, artifact.outputs)
    if as_json:
        shown = {"inputs": [*inputs], "outputs": [*outputs], "ops": artifact.op_count, "sha256": artifact.sha256}
        raw = None if artifact.raw_input is None else str(artifact.raw_input)
        shown |= {"raw_input": raw, "labels": list(artifact.labels), "bytes": artifact.source.size}
        print_json({"event": "exported", "out": str(result.path), **shown, "comparison": asdict(verification)})
        return
    print_text(f"{result.path}: {artifact.op_count} ops, {artifact.source.size / 1e6:.2f} MB")
    print_text(f"SHA-256: {artifact.sha256}")
    if artifact.raw_input is not None:
        print_text(f"Input of the preprocessing: {artifact.raw_input}")
    for title, values in (("Input", inputs), ("Output", outputs)):
        for value in values:
            print_text(f"{title}: {value}")
    print_text(
        f"Compared on {verification.samples} samples: largest difference {verification.absolute:.2g}, "
        f"relative {verification.relative:.2g}"
    )


__all__ = ["write_artifact"]
