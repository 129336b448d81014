"""The command `weights`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from engine.shape import format_shape
from studio.cli.error_output import BAD_INPUT, InputError, print_error, print_json, print_text
from studio.cli.error_reporting import report_errors
from studio.cli.shared_options import Assignments, Json, Trust, check_or_exit, project_folder, read_project
from studio.cli.training_options import find_weights
from studio.document import edits
from studio.document.files import project_files
from studio.document.files.project_format import SUFFIX
from studio.document.model import MAX_RULES, Document, ImportedWeights, RenameRule
from studio.document.rename_rules import pattern_problem, rule_problem
from studio.lowering.program import lower
from studio.training.weights.rule_suggestions import suggest_rules
from studio.training.weights.weight_import import chosen_weights, network_tensors, shapes_of
from studio.training.weights.weight_source import open_source
from studio.training.weights.weight_table import WeightRow, WeightTable, weight_table

_ORDER = ("matched", "misshapen", "missing", "unexpected", "tied")


def match_weights(
    weights: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Weights: .safetensors, .index.json, .pt, .pth, .bin or .npz; or the number, name or folder of a run.",
        ),
    ],
    project: Annotated[Path, typer.Argument(metavar="PROJECT", help=f"Project file ({SUFFIX}).")],
    part: Annotated[
        str, typer.Option(metavar="PATH", help='Part of a nested checkpoint, such as "model" (default: searched).')
    ] = "",
    rename: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REGEX=TEXT",
            help=r'Rename tensors of the file: "^module\.=" removes a prefix. Repeatable; applied one after another.',
        ),
    ] = None,
    transpose: Annotated[
        list[str] | None,
        typer.Option(metavar="REGEX", help="Transpose the matrices with these names in the file. Repeatable."),
    ] = None,
    suggest: Annotated[bool, typer.Option("--suggest", help="Add the suggested rules.")] = False,
    freeze: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help='With --save, freeze the loaded nodes with these names: "conv*", or "*" for all. Repeatable.',
        ),
    ] = None,
    save: Annotated[
        bool, typer.Option("--save", help="Let trainings of the project start from these weights, with these rules.")
    ] = False,
    assignments: Assignments = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        if save and assignments:
            raise InputError("--save cannot be combined with --set: the project would be saved without the changes.")
        if freeze and not save:
            raise InputError("--freeze changes the project. Add --save.")
        document = read_project(project, assignments, trust=trust)
        report = check_or_exit(project, document, as_json=as_json)
        task = lower(report, project.stem).build(device="cpu", seed=document.training.seed)
        task.setup()
        network = shapes_of(network_tensors(task.model))
        path = find_weights(project, weights)
        known = chosen_weights(document, project_folder(project), path)
        assert known is not None
        rules = _with_options(known, part, rename or (), transpose or ())
        stored = open_source(path, rules.part)
        suggested = suggest_rules(network, stored, rules)
        if suggest:
            rules = suggested
        table = weight_table(network, stored, rules)
        if save:
            saved = replace(rules, file=_relative(path, project_folder(project)))
            _save(project, replace(document, weights=saved), table, freeze or ())
    _print_table(table, as_json=as_json)
    if rules != suggested:
        _print_suggestion(rules, suggested, weight_table(network, stored, suggested), as_json=as_json)
    if not table.names("matched"):
        print_error(f"{path} has no weights for this network: {table.match}. Rename them with --rename.")
        raise typer.Exit(BAD_INPUT)


def _with_options(
    known: ImportedWeights, part: str, rename: Iterable[str], transpose: Sequence[str]
) -> ImportedWeights:
    rules = (*known.rename, *map(_rule, rename))
    for pattern in transpose:
        if problem := pattern_problem(pattern):
            raise InputError(f"--transpose {pattern!r} {problem}. Correct the pattern.")
    patterns = tuple(dict.fromkeys((*known.transpose, *transpose)))
    if max(len(rules), len(patterns)) > MAX_RULES:
        raise InputError(f"A project has at most {MAX_RULES} rules. Write one with a group for several: \\1.")
    return replace(known, part=part or known.part, rename=rules, transpose=patterns)


def _rule(text: str) -> RenameRule:
    pattern, equals, replacement = text.rpartition("=")
    if not equals or not pattern:
        raise InputError(rf"--rename {text!r}: write it as REGEX=TEXT, for example '^module\.='.")
    rule = RenameRule(pattern, replacement)
    if problem := rule_problem(rule):
        raise InputError(f"--rename {text!r}: {problem}. Correct the rule.")
    return rule


def _relative(path: Path, folder: Path) -> str:
    """The path for the project file: relative if the file lies below the folder of the project."""
    absolute = path.absolute()
    return (absolute.relative_to(folder) if absolute.is_relative_to(folder) else absolute).as_posix()


def _save(project: Path, document: Document, table: WeightTable, freeze: Sequence[str]) -> None:
    if not table.names("matched"):
        raise InputError(f"Nothing is saved, because no weights match: {table.match}. Rename them with --rename.")
    names = _frozen_nodes(document, table, freeze)
    if names:
        document = edits.set_flag(document, names, frozen=True)
    project_files.save(document, project)


def _frozen_nodes(document: Document, table: WeightTable, patterns: Sequence[str]) -> list[str]:
    """The nodes with these names whose weights are all loaded."""
    loaded, others = (
        dict.fromkeys(
            row.name.partition(".")[0] for row in table.rows if (row.status == "matched") is is_loaded and row.shape
        )
        for is_loaded in (True, False)
    )
    names: list[str] = []
    for pattern in patterns:
        found = [name for name in loaded if name in document.nodes and fnmatchcase(name, pattern)]
        partly = [name for name in found if name in others]
        if not found:
            raise InputError(
                f"--freeze {pattern!r}: no node with this name has loaded weights. It has {', '.join(loaded)}."
            )
        if partly and pattern in partly:
            raise InputError(
                f"--freeze {pattern!r}: not all weights of {pattern} are loaded. Load them, or do not freeze it."
            )
        names += [name for name in found if name not in others]
    return list(dict.fromkeys(names))


def _print_table(table: WeightTable, *, as_json: bool) -> None:
    rows = sorted(table.rows, key=lambda row: _ORDER.index(row.status))
    counts = {status: len(table.names(status)) for status in _ORDER}
    if as_json:
        for row in rows:
            print_json({"event": "weight", **asdict(row)})
        print_json({"event": "weights", **counts})
        return
    lines = [(row.status, row.name, _shapes(row), _remark(row)) for row in rows]
    widths = [max((len(line[column]) for line in lines), default=0) for column in range(3)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        print_text("  ".join([*cells, line[3]]).rstrip())
    print_text(", ".join(f"{count} {status}" for status, count in counts.items() if count))


def _shapes(row: WeightRow) -> str:
    return format_shape(row.shape if row.shape is not None else row.source_shape or ())


def _remark(row: WeightRow) -> str:
    parts = [f"from {row.source}" if row.source and row.source != row.name else ""]
    if row.status == "misshapen" and row.source_shape is not None and not row.note:
        parts.append(f"the file has {format_shape(row.source_shape)}")
    parts += ["transposed" if row.is_transposed else "", row.note]
    return ", ".join(part for part in parts if part)


def _print_suggestion(rules: ImportedWeights, suggested: ImportedWeights, table: WeightTable, *, as_json: bool) -> None:
    added = suggested.rename[len(rules.rename) :]
    transposed = suggested.transpose[len(rules.transpose) :]
    if as_json:
        listed = [{"pattern": rule.pattern, "replacement": rule.replacement} for rule in added]
        matched = len(table.names("matched"))
        print_json({"event": "suggestion", "rename": listed, "transpose": list(transposed), "matched": matched})
        return
    print_text(f"With these rules, {len(table.names('matched'))} match. Add them with --suggest:")
    for rule in added:
        print_text(f"  --rename '{rule.pattern}={rule.replacement}'")
    for pattern in transposed:
        print_text(f"  --transpose '{pattern}'")


__all__ = ["match_weights"]
