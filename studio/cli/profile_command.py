"""The command `profile`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from studio.cli.error_output import FAILED, InputError, print_json, print_text
from studio.cli.error_reporting import exit_with_error, report_errors
from studio.cli.profile_text import profile_text
from studio.cli.shared_options import Assignments, File, Json, Trust, check_or_exit, read_project
from studio.lowering.problems.problem import Problem
from studio.training.profiling.machine_limits import machine_limits
from studio.training.profiling.profile_data import Profile
from studio.training.profiling.profile_tables import csv_text, profile_record
from studio.training.profiling.trace_export import trace_text
from studio.training.profiling.training_profile import DEFAULT_STEPS, MAX_STEPS, ProfileError, profile_project


def profile(
    file: File,
    steps: Annotated[
        int, typer.Option("--steps", metavar="N", min=1, max=MAX_STEPS, help="Measured training steps.")
    ] = DEFAULT_STEPS,
    eager: Annotated[bool, typer.Option("--eager", help="Run ops one by one, without compilation.")] = False,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FILE", help="Write a trace for chrome://tracing and ui.perfetto.dev."),
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the table of kernels.")] = None,
    measure: Annotated[bool, typer.Option("--measure", help="Measure the limits of this machine again.")] = False,
    assignments: Assignments = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    found: Profile | None = None
    try:
        with report_errors(as_json=as_json):
            report = check_or_exit(file, read_project(file, assignments, trust=trust), as_json=as_json)
            with closing(profile_project(report, steps=steps, eager=eager, name=file.stem)) as updates:
                for update in updates:
                    found = update if isinstance(update, Profile) else None
    except ProfileError as error:
        problem = Problem("error", "run-failed", str(error), node=error.node)
        exit_with_error(problem, as_json=as_json, code=FAILED)
    assert found is not None
    with report_errors(as_json=as_json):
        limits = machine_limits(found.device, again=measure)
        for path, text in ((trace, lambda: trace_text(found)), (csv, lambda: csv_text(found, limits))):
            if path is not None:
                _write(path, text())
    if as_json:
        print_json({"event": "profiled", **profile_record(found, limits)})
    else:
        print_text(profile_text(found, limits))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"Could not write {path}: {error.strerror or error}. Pass a file in another folder."
        ) from error


__all__ = ["profile"]
