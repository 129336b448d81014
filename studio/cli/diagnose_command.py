"""The command `diagnose`."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from studio.cli.error_output import BAD_INPUT, FAILED, InputError, print_error, print_json, print_text
from studio.cli.error_reporting import report_errors
from studio.cli.shared_options import (
    Assignments,
    File,
    Json,
    Trust,
    check_or_exit,
    problem_text,
    read_project,
)
from studio.training.experiments.diagnosis_run import EXPERIMENTS, Conclusion, diagnose
from studio.training.experiments.experiment import Result
from studio.training.experiments.report_files import SUFFIXES, VERDICTS, write_report
from studio.training.session_events import Failed

KEYS = tuple(each.key for each in EXPERIMENTS)


def diagnose_project(
    file: File,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a report with pictures, .html or .md.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help=f"Run one experiment, and those it continues: {', '.join(KEYS)}."),
    ] = None,
    assignments: Assignments = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        if report is not None and report.suffix not in SUFFIXES:
            raise InputError(f"{report} is not a report. Pass a name that ends in .html or .md.")
        if unknown := sorted({*(only or ())} - {*KEYS}):
            raise InputError(f"{unknown[0]} is not an experiment. Pass one of {', '.join(KEYS)}.")
        checked = check_or_exit(file, read_project(file, assignments, trust=trust), as_json=as_json)
        conclusion = None
        with closing(diagnose(lambda: checked, name=file.stem, only=only or (), clock=time.monotonic)) as events:
            for event in events:
                if isinstance(event, Failed):
                    _print_failure(file, event, as_json=as_json)
                if isinstance(event, Result):
                    _print_result(event, as_json=as_json)
                conclusion = event if isinstance(event, Conclusion) else conclusion
        assert conclusion is not None
        if report is not None:
            write_report(report, conclusion, file.stem)
    _print_conclusion(file, conclusion, as_json=as_json)
    if conclusion.cause is not None:
        raise typer.Exit(FAILED)


def _print_result(result: Result, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "experiment", **_record(result)})
        return
    print_text(f"{result.experiment.title}: {VERDICTS[result.outcome.verdict].lower()}. {result.outcome.summary}")


def _record(result: Result) -> dict[str, Any]:
    return {
        "key": result.experiment.key,
        "question": result.experiment.question,
        "verdict": result.outcome.verdict,
        "summary": result.outcome.summary,
        "next_step": result.outcome.next_step,
        "evidence": dict(result.outcome.evidence),
        "problems": [problem.as_dict() for problem in result.outcome.problems],
    }


def _print_conclusion(file: Path, conclusion: Conclusion, *, as_json: bool) -> None:
    cause = conclusion.cause
    if as_json:
        found = None if cause is None else cause.as_dict()
        print_json(
            {
                "event": "diagnosed",
                "summary": conclusion.summary,
                "cause": found,
                "seconds": round(conclusion.seconds, 1),
            }
        )
        return
    print_text(conclusion.summary)
    if cause is not None and cause.fix is not None:
        options = "".join(f" --set {setting}" for setting in cause.fix.settings)
        print_text(f"Fix: {cause.fix.title}." + (f" In a run: gradwire run {file}{options}" if options else ""))


def _print_failure(file: Path, failure: Failed, *, as_json: bool) -> None:
    print_error(problem_text(file, failure.problem))
    if as_json:
        print_json({"event": "failed", **failure.problem.as_dict()})
    raise typer.Exit(BAD_INPUT if failure.by_input else FAILED)


__all__ = ["diagnose_project"]
