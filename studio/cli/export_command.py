"""The command `export`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from engine.export.artifact_records import ARTIFACT_SUFFIX
from engine.onnx.translators import DEFAULT_OPSET, NEWEST_OPSET, OLDEST_OPSET
from studio.cli.error_output import InputError, print_json, print_text
from studio.cli.error_reporting import exit_with_error, report_errors
from studio.cli.export_artifact import write_artifact
from studio.cli.export_onnx import export_onnx
from studio.cli.shared_options import (
    Assignments,
    File,
    Json,
    Trust,
    check_or_exit,
    project_folder,
    read_project,
)
from studio.cli.training_options import find_weights
from studio.export import ExportError, ExportRequest, export_package
from studio.lowering.problems.problem import Problem


def export_project(
    file: File,
    target: Annotated[
        Literal["pytorch", "engine", "onnx", "artifact"],
        typer.Option(
            "--to",
            metavar="pytorch|engine|onnx|artifact",
            help="A Python package for PyTorch or the engine, an ONNX file, or an artifact: a file that "
            "engine.export.load runs without the project.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Folder of the package (default: NAME_pytorch or NAME_engine beside the project), or the file "
            "(default: NAME.onnx or NAME.gwx).",
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            "--weights",
            "-w",
            metavar="WEIGHTS",
            help="Number, name or folder of a run (its last weights), or a checkpoint or weights file (default: the "
            "weights that trainings start from).",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier package in the folder.")] = False,
    opset: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=OLDEST_OPSET,
            max=NEWEST_OPSET,
            help=f"Version of ONNX's operators (default: {DEFAULT_OPSET}).",
        ),
    ] = None,
    preprocessing: Annotated[
        bool, typer.Option("--preprocessing", help="Include the validation transforms in an ONNX file.")
    ] = False,
    assignments: Assignments = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        if target != "onnx" and (preprocessing or opset is not None):
            raise InputError(f"{'--preprocessing' if preprocessing else '--opset'} needs --to onnx.")
        document = read_project(file, assignments, trust=trust)
        if weights is not None:
            weights = find_weights(file, weights)
            if not os.path.exists(weights):
                raise InputError(
                    f"--weights: there is no run, checkpoint or weights file {str(weights)!r}. Check the path."
                )
        report = check_or_exit(file, document, as_json=as_json)
    if target == "onnx":
        export_onnx(
            report,
            out or file.with_suffix(".onnx"),
            name=file.stem,
            base=project_folder(file),
            weights=weights,
            opset=DEFAULT_OPSET if opset is None else opset,
            preprocessing=preprocessing,
            as_json=as_json,
        )
        return
    if target == "artifact":
        write_artifact(
            report,
            out or file.with_suffix(ARTIFACT_SUFFIX),
            name=file.stem,
            base=project_folder(file),
            weights=weights,
            as_json=as_json,
        )
        return
    folder = out or file.with_name(f"{file.stem}_{target}")
    request = ExportRequest(document, report, file.stem, target, project_folder(file), weights)
    try:
        with report_errors(as_json=as_json):
            files = export_package(request, folder, force=force)
    except ExportError as error:
        exit_with_error(Problem("error", "not-exported", str(error), node=error.node), as_json=as_json)
    if as_json:
        print_json({"event": "exported", "target": target, "out": str(folder), "files": list(files)})
        return
    for name in files:
        print_text(str(folder / name))


__all__ = ["export_project"]
