"""The command `diff`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from studio.cli.error_output import print_json, print_text
from studio.cli.error_reporting import report_errors
from studio.cli.shared_options import Json
from studio.document import SUFFIX
from studio.document.files import project_files
from studio.document.graph_comparison import Change, Comparison, Value, compare

_DIFFERENT = 1

Old = Annotated[Path, typer.Argument(metavar="OLD", help=f"Project file ({SUFFIX}).")]
New = Annotated[Path, typer.Argument(metavar="NEW", help=f"Project file ({SUFFIX}) to compare with it.")]


def diff(old: Old, new: New, as_json: Json = False) -> None:
    with report_errors(as_json=as_json):
        comparison = compare(project_files.load(old), project_files.load(new))
    if as_json:
        _print_records(comparison)
    else:
        _print_lines(comparison)
    if comparison:
        raise typer.Exit(_DIFFERENT)


def _print_lines(comparison: Comparison) -> None:
    if not comparison:
        print_text("The graphs and settings are equal.")
    for name in comparison.blocks_added:
        print_text(f"block {name}: added")
    for name in comparison.blocks_removed:
        print_text(f"block {name}: removed")
    for change in comparison.changes:
        print_text(str(change))
    for value in comparison.training:
        print_text(f"training.{value}")


def _print_records(comparison: Comparison) -> None:
    for name in comparison.blocks_added:
        print_json({"event": "block", "block": name, "change": "added"})
    for name in comparison.blocks_removed:
        print_json({"event": "block", "block": name, "change": "removed"})
    for change in comparison.changes:
        print_json({"event": "node", **_record(change)})
    for value in comparison.training:
        print_json({"event": "training", **_value(value)})
    print_json({"event": "compared", "differences": len(comparison.changes) + len(comparison.training)})


def _record(change: Change) -> dict[str, object]:
    return {
        "block": change.block,
        "change": change.kind,
        "old": change.old,
        "new": change.new,
        "values": [_value(value) for value in change.values],
        "wires_removed": [str(wire) for wire in change.wires_removed],
        "wires_added": [str(wire) for wire in change.wires_added],
    }


def _value(value: Value) -> dict[str, object]:
    return {"name": value.name, "old": value.old, "new": value.new}


__all__ = ["diff"]
