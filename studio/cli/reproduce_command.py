"""The command `reproduce`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from studio.cli.assignments import apply_assignments
from studio.cli.error_output import FAILED, InputError, print_error, print_json, print_text
from studio.cli.error_reporting import exit_with_error, report_errors
from studio.cli.progress_display import ProgressDisplay
from studio.cli.shared_options import Assignments, Json, Trust, check_or_exit, project_folder, read_project
from studio.document.model import Document
from studio.lowering.problems.problem import Problem
from studio.lowering.user_code.document_code import allow_code
from studio.nodes.catalogue import catalogue
from studio.training.reproduction.failing_step import MAX_STEPS, ReproductionError, Searching
from studio.training.reproduction.reduction import MAX_TRIES, Reducing
from studio.training.reproduction.reproduce import MAX_SECONDS, Found, Progress, Reproduction, reproduce
from studio.training.reproduction.run_source import FailedRun, is_run, load_failed_run

_REPORTED_STEPS = 100
"""Interval of progress messages while the failure is searched."""


def reproduce_failure(
    source: Annotated[
        Path, typer.Argument(metavar="PROJECT|RUN", help="Project file (.gradwire), or folder of a failed run.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for the result (default: NAME.reproduction)."),
    ] = None,
    steps: Annotated[
        int, typer.Option(metavar="N", min=1, help="Maximum number of steps to train until one fails.")
    ] = MAX_STEPS,
    tries: Annotated[
        int, typer.Option(metavar="N", min=1, help="Maximum number of smaller projects to try.")
    ] = MAX_TRIES,
    seconds: Annotated[float, typer.Option(metavar="N", min=1, help="Maximum time for the reduction.")] = MAX_SECONDS,
    assignments: Assignments = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        run: FailedRun | None = load_failed_run(source) if is_run(source) else None
        document = _document(source, run, assignments, trust=trust)
        file = source if run is None else run.project
        check_or_exit(file, document, as_json=as_json)
        result: Reproduction | None = None
        events = reproduce(
            document,
            catalogue(),
            _folder(source) if out is None else out,
            base=project_folder(file),
            seed=None if run is None else run.seed,
            run=None if run is None else run.folder,
            max_steps=steps,
            max_tries=tries,
            max_seconds=seconds,
        )
        try:
            with ProgressDisplay(quiet=as_json) as display, closing(events):
                for event in events:
                    _show(event, display, as_json=as_json)
                    result = event if isinstance(event, Reproduction) else result
        except ReproductionError as error:
            exit_with_error(Problem("error", "not-reproduced", str(error)), as_json=as_json, code=FAILED)
    assert result is not None
    _print_result(result, as_json=as_json)


def _document(source: Path, run: FailedRun | None, assignments: list[str] | None, *, trust: bool) -> Document:
    if run is None:
        return read_project(source, assignments, trust=trust)
    if assignments:
        raise InputError("--set cannot be combined with a run, which keeps its graph. Pass the project file.")
    document = apply_assignments(run.document, catalogue(), ())
    if trust:
        allow_code(document)
    return document


def _folder(source: Path) -> Path:
    return source / "reproduction" if is_run(source) else source.with_suffix(".reproduction")


def _show(event: Progress, display: ProgressDisplay, *, as_json: bool) -> None:
    match event:
        case Searching() if event.step % _REPORTED_STEPS == 0:
            display.print_message(f"{event.step:,} steps without a failure")
        case Found():
            text = f"Step {event.step:,} fails: {event.sign}"
            display.print_message(f"{text} Reducing {event.nodes} nodes and {event.samples} samples.")
            if as_json:
                print_json({"event": "found", "step": event.step, **_sign(event), "nodes": event.nodes})
        case Reducing() if as_json:
            print_json(
                {
                    "event": "tried",
                    "stage": event.stage,
                    "tries": event.tries,
                    "nodes": event.nodes,
                    "samples": event.samples,
                }
            )
        case _:
            pass


def _sign(event: Found | Reproduction) -> dict[str, Any]:
    sign = event.sign
    return {"kind": sign.kind, "node": sign.node, "error": sign.error, "message": str(sign)}


def _print_result(result: Reproduction, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "event": "reproduced",
                **_sign(result),
                "step": result.step,
                "kept": list(result.kept),
                "nodes": result.nodes,
                "samples": result.samples,
                "tries": result.tries,
                "complete": result.is_complete,
                "project": str(result.project),
                "script": str(result.script),
            }
        )
        return
    if not result.is_complete:
        print_error("The limit of tries or time was reached, so the result may not be minimal.", "warning")
    print_text(result.summary)
    print_text(f"Script: {result.script}")
    option = f" --start-from {result.weights}" if result.has_weights else ""
    print_text(f"Project: gradwire run {result.project}{option}")


__all__ = ["reproduce_failure"]
