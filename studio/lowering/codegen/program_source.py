"""Generate Python source from a checked document, with a table from lines to nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from engine.system.syntax import parse_source
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.model_source import model_class
from studio.lowering.codegen.safe_identifiers import SUBPACKAGES, class_name
from studio.lowering.codegen.source_writer import SourceWriter
from studio.lowering.codegen.task_source import task_class


@dataclass(frozen=True, slots=True)
class ProgramSource:
    """A program as text."""

    text: str
    lines: Mapping[int, str]
    """Node by line number, from 1."""
    model_class: str
    task_class: str


def write_program(flow: Dataflow, title: str | None = None) -> ProgramSource:
    """Generate the program of a document without errors.

    Args:
        title: project name, from which the class names are derived
    """
    writer = SourceWriter(flow)
    model = class_name(title)
    task = f"{model}Training"
    classes = [model_class(writer, model), task_class(writer, task, model)]
    imports = _imports(writer.modules)
    text = syntax_trees.source_text(imports, classes)
    return ProgramSource(text, _line_table(writer, [*imports, *classes], text), model, task)


def _imports(used: set[str]) -> list[ast.stmt]:
    parts = sorted(used - {"engine", *SUBPACKAGES})
    statements: list[ast.stmt] = [syntax_trees.import_of("engine")] if "engine" in used else []
    statements.append(syntax_trees.from_import("engine", parts))
    for module, package in SUBPACKAGES.items():
        if module in used:
            statements.append(syntax_trees.from_import(package, [module]))
    return statements


def _line_table(writer: SourceWriter, written: list[ast.stmt], text: str) -> dict[int, str]:
    """Node by line number. The parsed text has the same statements in the same order, with line numbers."""
    owners = {id(statement): name for statement, name in writer.marks}
    lines: dict[int, str] = {}
    for statement, read in zip(_statements(written), _statements(parse_source(text).body), strict=True):
        if id(statement) in owners:
            last = read.lineno if read.end_lineno is None else read.end_lineno
            lines.update(dict.fromkeys(range(read.lineno, last + 1), owners[id(statement)]))
    return lines


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of classes and methods, in the order of their lines."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            yield from _statements(statement.body)
