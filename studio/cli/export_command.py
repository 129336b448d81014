"""The command `export`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from studio.cli.error_output import InputError, print_json, print_text
from studio.cli.error_reporting import exit_with_error, report_errors
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
        Literal["pytorch", "engine"],
        typer.Option("--to", metavar="pytorch|engine", help="Library that the package is written for."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of the package.")],
    weights: Annotated[
        Path | None,
        typer.Option(
            "--weights",
            "-w",
            metavar="WEIGHTS",
            help="Number, name or folder of a run (its last weights), or a checkpoint or weights file (default: the "
            "initial weights of the project's seed).",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier package in DIR.")] = False,
    assignments: Assignments = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    try:
        with report_errors(as_json=as_json):
            document = read_project(file, assignments, trust=trust)
            if weights is not None:
                weights = find_weights(file, weights)
                if not os.path.exists(weights):
                    raise InputError(
                        f"--weights: there is no run, checkpoint or weights file {str(weights)!r}. Check the path."
                    )
            report = check_or_exit(file, document, as_json=as_json)
            request = ExportRequest(document, report, file.stem, target, project_folder(file), weights)
            files = export_package(request, out, force=force)
    except ExportError as error:
        exit_with_error(Problem("error", "not-exported", str(error), node=error.node), as_json=as_json)
    if as_json:
        print_json({"event": "exported", "target": target, "out": str(out), "files": list(files)})
        return
    for name in files:
        print_text(str(out / name))


__all__ = ["export_project"]
