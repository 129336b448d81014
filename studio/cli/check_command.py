"""The command `check`."""

from __future__ import annotations

import typer

from studio.cli.error_output import BAD_INPUT, print_json, print_text
from studio.cli.error_reporting import report_errors
from studio.cli.shared_options import Assignments, File, Json, Trust, print_problems, project_folder, read_project
from studio.lowering.check import check as check_document
from studio.lowering.problems.problem_groups import grouped
from studio.nodes.catalogue import catalogue


def check(file: File, assignments: Assignments = None, trust: Trust = False, as_json: Json = False) -> None:
    with report_errors(as_json=as_json):
        document = read_project(file, assignments, trust=trust)
        report = check_document(document, catalogue(), base=project_folder(file))
    print_problems(file, document, [*report.problems, *report.dismissed], as_json=as_json)
    errors, warnings, hints = len(report.errors), len(report.warnings), len(report.hints)
    if as_json:
        wires = {str(wire): carried for wire, carried in sorted(report.wires.items())}
        figures = {"parameters": report.parameters, "macs": report.macs, "wires": wires}
        counts = {"errors": errors, "warnings": warnings, "hints": hints, "dismissed": len(report.dismissed)}
        print_json({"event": "checked", **counts, **figures})
    elif not errors:
        texts = [_count(len(grouped(report.warnings, document.nodes)), "warning")]
        texts += [_count(len(grouped(report.hints, document.nodes)), "hint")] if hints else []
        texts += [f"{len(report.dismissed):,} dismissed"] if report.dismissed else []
        print_text(f"{file}: no errors, {', '.join(texts)}, {report.parameters:,} parameters")
    if errors:
        raise typer.Exit(BAD_INPUT)


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


__all__ = ["check"]
