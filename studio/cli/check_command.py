"""The command `check`."""

from __future__ import annotations

from typing import Annotated

import typer

from studio.cli.error_output import BAD_INPUT, print_json, print_text
from studio.cli.error_reporting import report_errors
from studio.cli.shared_options import Assignments, File, Json, Trust, print_problems, project_folder, read_project
from studio.document.model import Document
from studio.lowering.check import check as check_document
from studio.lowering.problems.problem_groups import grouped
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.training.data.data_inspector import DataInspector, Inspection


def check(
    file: File,
    assignments: Assignments = None,
    trust: Trust = False,
    data: Annotated[
        bool, typer.Option("--data", help="Also look at samples of the data, at most for about 2 seconds.")
    ] = False,
    as_json: Json = False,
) -> None:
    inspection = Inspection()
    with report_errors(as_json=as_json):
        document = read_project(file, assignments, trust=trust)
        report = check_document(document, catalogue(), base=project_folder(file))
        if data:
            inspection = DataInspector().inspect(report)
            report = inspection.joined(report)
    print_problems(file, document, [*report.problems, *report.dismissed], as_json=as_json)
    errors, warnings, hints = len(report.errors), len(report.warnings), len(report.hints)
    if as_json:
        wires = {str(wire): carried for wire, carried in sorted(report.wires.items())}
        figures = {"parameters": report.parameters, "macs": report.macs, "wires": wires}
        if data:
            figures["data"] = [part.as_dict() for part in inspection.looked_at]
        counts = {"errors": errors, "warnings": warnings, "hints": hints, "dismissed": len(report.dismissed)}
        print_json({"event": "checked", **counts, **figures})
    else:
        for part in inspection.looked_at:
            print_text(f"{file}: looked at {part}")
        if not errors:
            print_text(f"{file}: no errors, {_summary(report, document)}, {report.parameters:,} parameters")
    if errors:
        raise typer.Exit(BAD_INPUT)


def _summary(report: Report, document: Document) -> str:
    """The numbers of warnings, hints and dismissed problems."""
    texts = [_count(len(grouped(report.warnings, document.nodes)), "warning")]
    texts += [_count(len(grouped(report.hints, document.nodes)), "hint")] if report.hints else []
    texts += [f"{len(report.dismissed):,} dismissed"] if report.dismissed else []
    return ", ".join(texts)


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


__all__ = ["check"]
