"""The command `import`: a data file as the source of a project, or a module class of a Python file as a block."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.data.tables.inference.table_schema import TableSchema, infer_table
from engine.errors import DataError
from studio.cli.error_output import InputError, print_json, print_text
from studio.cli.error_reporting import report_errors
from studio.cli.module_import import is_module, with_module
from studio.cli.shared_options import Json, project_folder
from studio.document import SUFFIX
from studio.document.blocks.block_expansion import flat_document
from studio.document.files import project_files
from studio.document.model import Document
from studio.lowering.user_code.document_code import untrusted_code
from studio.training.data.imports.file_import import image_column, is_table, plan_file, plan_image_list
from studio.training.data.imports.import_plan import ImportPlan, apply_plan
from studio.training.data.imports.table_import import plan_table

_LONGEST = 30


def import_data(
    path: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Table, array or text file, folder of images, or FILE.py[:CLASS]."),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help=f"Project file to create or extend ({SUFFIX}).")
    ],
    target: Annotated[
        str | None, typer.Option("--target", metavar="COLUMN", help="Column to learn (default: guessed).")
    ] = None,
    network: Annotated[
        bool, typer.Option("--network", help="Add a network, a loss and an optimizer if the project has no loader.")
    ] = False,
    python_nodes: Annotated[
        bool,
        typer.Option("--python-nodes", help="Make Python nodes of the parts of FILE.py that no graph can express."),
    ] = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        if out.suffix != SUFFIX:
            raise InputError(f"--out {out}: project files end in {SUFFIX}.")
        document = project_files.load(out) if os.path.exists(out) else Document()
        if is_module(path):
            before = document
            document, blocks = with_module(path, document, _below(document), python_nodes=python_nodes)
            project_files.save(document, out)
            _print_module(out, before, document, blocks, as_json=as_json)
            return
        try:
            schema = infer_table(path) if is_table(path) else None
            if schema is not None and target is not None:
                schema = _with_target(schema, target)
            plan = _plan(path, schema, project_folder(out))
        except DataError as error:
            raise InputError(str(error)) from None
        plan = plan if network else replace(plan, network=None)
        document, names = apply_plan(plan, document, _below(document))
        project_files.save(document, out)
    if as_json:
        print_json(_record(plan, schema, names))
        return
    for line in _lines(plan, schema):
        print_text(line)
    print_text(f"Added {' -> '.join(names)} to {out}")


def _print_module(out: Path, before: Document, document: Document, blocks: list[str], *, as_json: bool) -> None:
    added = [name for name in document.nodes if name not in before.nodes]
    found = untrusted_code(flat_document(document)).values()
    untrusted = [path for paths in found for path in paths if path.partition(".")[0] in added]
    if as_json:
        print_json({"event": "imported", "blocks": blocks, "nodes": added, "untrusted": untrusted})
        return
    print_text(f"Added {_counted(blocks) if blocks else ', '.join(added)} to {out}")
    if untrusted:
        print_text(f"Python nodes: {', '.join(untrusted)}. Read their code, then trust it with `gradwire trust {out}`.")


def _counted(blocks: list[str]) -> str:
    return f"the block{'s' if len(blocks) > 1 else ''} {', '.join(blocks)}"


def _plan(path: Path, schema: TableSchema | None, base: Path) -> ImportPlan:
    if schema is None:
        return plan_file(path, base)
    image = image_column(schema)
    return plan_table(schema, base=base) if image is None else plan_image_list(schema, image, base)


def _with_target(schema: TableSchema, target: str) -> TableSchema:
    names = [column.name for column in schema.columns]
    if target not in names:
        raise InputError(f"--target {target}: the table has no such column. It has {', '.join(names[:20])}.")
    return schema.with_column(names.index(target), role="target")


def _below(document: Document) -> tuple[float, float]:
    """A position below all nodes."""
    if not document.nodes:
        return (0.0, 0.0)
    positions = [node.at for node in document.nodes.values()]
    return (min(x for x, _ in positions), max(y for _, y in positions) + 176.0)


def _lines(plan: ImportPlan, schema: TableSchema | None) -> list[str]:
    lines: list[str] = []
    if schema is not None:
        width = max(4, *(len(column.name[:_LONGEST]) for column in schema.columns))
        lines.append(f"{'name':{width}}  {'role':7} {'type':9} {'missing':>8} {'distinct':>9}  examples")
        for column in schema.columns:
            examples = ", ".join(" ".join(text.split())[:_LONGEST] for text in column.examples[:3])
            distinct = f"{column.distinct:,}{'' if column.is_counted else '+'}"
            lines.append(
                f"{column.name[:_LONGEST]:{width}}  {column.role:7} {column.type:9} {column.missing:>8,} "
                f"{distinct:>9}  {examples}"
            )
        lines.append("")
    preview = plan.preview
    counts = f"{preview.training:,} training and {preview.validation:,} validation samples"
    lines.append(f"{preview.input} -> {preview.target}, {counts}")
    return [*lines, *(f"note: {warning}" for warning in plan.warnings)]


def _record(plan: ImportPlan, schema: TableSchema | None, names: list[str]) -> dict[str, Any]:
    columns = [] if schema is None else [
        {
            "name": column.name, "role": column.role, "type": column.type, "missing": column.missing,
            "distinct": column.distinct, "examples": list(column.examples), "reason": column.guess.reason,
        }
        for column in schema.columns
    ]  # fmt: skip
    preview = plan.preview
    return {
        "event": "imported", "nodes": names, "columns": columns, "input": preview.input, "target": preview.target,
        "training": preview.training, "validation": preview.validation, "notes": list(plan.warnings),
    }  # fmt: skip


__all__ = ["import_data"]
