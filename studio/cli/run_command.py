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
    check_or_exit,
    print_problems,
    project_folder,
    read_project,
    runs_folder,
)
from studio.cli.training_options import find_weights, parse_device
from studio.document.model import LARGEST, MAX_SEED
from studio.nodes.catalogue import catalogue
from studio.training import Session
from studio.training.runs.run_resuming import find_resumable, load_run, with_difference_warning


def run(
    file: File,
    epochs: Annotated[
        int | None, typer.Option(min=0, max=LARGEST, help="epochs to train; else as the project says")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=0, max=LARGEST, help="batches to train; alone, without end of epochs")
    ] = None,
    device: DeviceName = None,
    seed: Annotated[int | None, typer.Option(min=0, max=MAX_SEED, help="random seed, 0 to 9223372036854775807")] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder for weights and figures; else a new one in NAME.runs beside FILE")
    ] = None,
    compile: Annotated[
        bool | None, typer.Option(help="whether training steps run as compiled plans; else as the project says")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="[RUN]",
            help="go on with a run, with its own graph and settings; unless named, with the newest that is unfinished",
        ),
    ] = None,
    start_from: Annotated[
        Path | None, typer.Option(help="a run, checkpoint or weights file: begin with those of its weights that fit")
    ] = None,
    assignments: Assignments = None,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="show nothing but errors")] = False,
) -> None:
    with report_errors(as_json=as_json):
        runs = runs_folder(file)
        chosen = parse_device(device)
        document = read_project(file, assignments)
        going_on = None
        if resume is not None:
            if assignments or seed is not None or out is not None or start_from is not None:
                raise InputError("--resume goes on as the run was begun: leave out --set, --seed, --out, --start-from.")
            going_on = with_difference_warning(
                load_run(find_resumable(runs, resume)), file.name, document, catalogue(), epochs=epochs
            )
            document = going_on.document
        if start_from is not None:
            start_from = find_weights(file, start_from)
            if not os.path.exists(start_from):
                raise InputError(f"--start-from {start_from}: there is no such run, checkpoint or weights file.")
        report = check_or_exit(file, document, as_json=as_json)
    print_problems(file, document, report.warnings, as_json=as_json)
    session = Session(
        document,
        catalogue(),
        base=project_folder(file),
        out=out,
        runs=None if out else runs,
        name=file.stem,
        resume=going_on,
        start_from=start_from,
        get_report=lambda: report,
        epochs=epochs,
        steps=steps,
        device=chosen,
        seed=seed,
        compile=compile,
    )
    raise typer.Exit(RunWatcher(session, told=report.warnings, as_json=as_json, quiet=quiet).run())


__all__ = ["run"]
