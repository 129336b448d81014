"""The command `explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from studio.cli.error_output import FAILED, print_json, print_text
from studio.cli.error_reporting import exit_with_error, report_errors
from studio.cli.shared_options import Assignments, File, Json, Trust, check_or_exit, read_project
from studio.lowering.problems.problem import Problem
from studio.lowering.program import lower
from studio.training.compilation import explain_step
from studio.training.run_settings import resolve_device


def explain(
    file: File,
    assignments: Assignments = None,
    trust: Trust = False,
    source: Annotated[bool, typer.Option("--source", help="Also print the generated kernel code.")] = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        document = read_project(file, assignments, trust=trust)
        program = lower(check_or_exit(file, document, as_json=as_json), file.stem)
        task = program.build(device=resolve_device(document.training.device), seed=document.training.seed)
        task.setup()
    try:
        found = explain_step(task, program)
    except Exception as error:  # noqa: BLE001 - any error is reported at its node
        problem = Problem("error", "run-failed", program.translate_error(error), node=program.node_of(error))
        exit_with_error(problem, as_json=as_json, code=FAILED)
    else:
        if as_json:
            print_json({"event": "explained", **found.as_dict()})
        else:
            print_text(found.text(source=source))


__all__ = ["explain"]
