"""The command `run`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from studio.cli.error_output import InputError
from studio.cli.error_reporting import report_errors
from studio.cli.run_watcher import RunWatcher
from studio.cli.shared_options import (
    Assignments,
    DeviceName,
    File,
    Json,
    Trust,
    check_or_exit,
    print_problems,
    project_folder,
    read_project,
    runs_folder,
)
from studio.cli.training_options import find_weights, parse_device
from studio.document.breakpoints.breakpoint_edits import checked_condition
from studio.document.model import MAX_INT, MAX_SEED
from studio.lowering.user_code.document_code import allow_code
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession
from studio.training.runs.run_resuming import find_resumable, load_run, with_difference_warning


def run(
    file: File,
    epochs: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, max=MAX_INT, help="Number of epochs (default: the project's setting)."),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=MAX_INT, help="Stop after N batches. Without --epochs, epochs are unlimited."
        ),
    ] = None,
    device: DeviceName = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, max=MAX_SEED, help="Random seed (default: the project's setting).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Run folder (default: a new folder in NAME.runs, next to FILE).")
    ] = None,
    compile: Annotated[
        bool | None, typer.Option(help="Compile training steps (default: the project's setting).")
    ] = None,
    probe_steps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=MAX_INT,
            help="Measure all tensors every N batches (0: never; default: the project's setting).",
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="[RUN]",
            help="Resume a run with its graph and settings (default: the newest unfinished run).",
        ),
    ] = None,
    start_from: Annotated[
        Path | None,
        typer.Option(metavar="WEIGHTS", help="Initialize matching weights from a run, checkpoint or weights file."),
    ] = None,
    break_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help='Stop before the step at which a condition holds, and keep its batch and state: "loss is NaN", '
            '"grad_norm(fc1) > 100". Repeatable; added to the breakpoints of the project.',
        ),
    ] = None,
    assignments: Assignments = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
) -> None:
    with report_errors(as_json=as_json):
        runs = runs_folder(file)
        device_name = parse_device(device)
        document = read_project(file, assignments, trust=trust)
        breakpoints = {**document.breakpoints, **{checked_condition(text): True for text in break_on or ()}}
        resumed_run = None
        if resume is not None:
            if assignments or seed is not None or out is not None or start_from is not None:
                raise InputError("--resume cannot be combined with --set, --seed, --out or --start-from.")
            resumed_run = with_difference_warning(
                load_run(find_resumable(runs, resume)), file.name, document, catalogue(), epochs=epochs
            )
            document = resumed_run.document
            if trust:
                allow_code(document)
        if start_from is not None:
            start_from = find_weights(file, start_from)
            if not os.path.exists(start_from):
                raise InputError(
                    f"--start-from: there is no run, checkpoint or weights file {str(start_from)!r}. Check the path."
                )
        report = check_or_exit(file, document, as_json=as_json)
    print_problems(file, document, report.warnings, as_json=as_json)
    session = TrainingSession(
        document,
        catalogue(),
        base=project_folder(file),
        out=out,
        runs=None if out else runs,
        name=file.stem,
        resume=resumed_run,
        start_from=start_from,
        get_report=lambda: report,
        epochs=epochs,
        steps=steps,
        device=device_name,
        seed=seed,
        compile=compile,
        breakpoints=breakpoints,
        probe_steps=probe_steps,
    )
    raise typer.Exit(RunWatcher(session, known_warnings=report.warnings, as_json=as_json, quiet=quiet).run())


__all__ = ["run"]
