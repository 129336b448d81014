"""Generate Python source from a checked document, with a table from lines to nodes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from engine.system.syntax import parse_source
from studio.document.blocks import block_nodes
from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.code_sections import CodeSection, CodeSections
from studio.lowering.codegen.frozen_layers import FrozenLayers
from studio.lowering.codegen.initial_weights import InitialWeights
from studio.lowering.codegen.model_source import LayerSetup, block_class, model_class
from studio.lowering.codegen.safe_identifiers import MODULES, SUBPACKAGES, Locals, class_name
from studio.lowering.codegen.source_writer import ModuleNames, SourceWriter
from studio.lowering.codegen.task_source import task_class
from studio.nodes.types import Role


@dataclass(frozen=True, slots=True)
class ProgramSource:
    """A program as text."""

    text: str
    lines: Mapping[int, str]
    """Node by line number, from 1."""
    model_class: str
    task_class: str
    names: Mapping[str, ModuleNames]
    """What the names in the classes of the model and its blocks stand for, by class."""
    values: Mapping[str, Mapping[str, Endpoint]]
    """The output of a node that each variable has, by class, with that of the task."""
    code: tuple[CodeSection, ...] = ()
    """The sources of Python nodes."""


def write_program(flow: Dataflow, title: str | None = None, reserved: Collection[str] = ()) -> ProgramSource:
    """Generate the program of a document without errors.

    Args:
        title: project name, from which the class names are derived
        reserved: names that classes and variables of the program cannot have
    """
    code = CodeSections(flow, reserved)
    writer = SourceWriter(flow, flow.scope_graphs[0], code=code)
    setup = LayerSetup(FrozenLayers(flow), InitialWeights(flow))
    model = Locals(code.names).new(class_name(title))
    task = Locals(code.names).new(f"{model}Training")
    titles = Locals([model, task, *code.names])
    classes = [
        block_class(inner, titles.new(class_name(block)), setup) for block, inner in _block_writers(writer).items()
    ]
    classes += [model_class(writer, model, setup), task_class(writer, task, model)]
    imports = _imports(writer.modules | (code.used_names & MODULES))
    text = syntax_trees.source_text(imports, classes)
    lines = _line_table(writer, [*imports, *classes], text)
    head = syntax_trees.imports_text(imports)
    inserted, sections = code.placed(head)
    if inserted:
        text = head + inserted + text[len(head) :]
        lines = {line + inserted.count("\n"): node for line, node in lines.items()}
        for each in sections:
            lines |= dict.fromkeys(range(each.first_line, each.last_line + 1), each.nodes[0])
    return ProgramSource(text, lines, model, task, writer.names, writer.values, sections)


def _block_writers(writer: SourceWriter) -> dict[str, SourceWriter]:
    """A writer for each block that a class uses, those of inner blocks first."""
    writers: dict[str, SourceWriter] = {}
    definitions = {each.block: each for each in writer.flow.scope_graphs}
    for name in writer.with_role(Role.BLOCK):
        block = block_nodes.name_of(writer.graph.document.nodes[name])
        if block is not None and block not in writers:
            inner = SourceWriter(writer.flow, definitions[block], writer)
            writers = {**writers, **_block_writers(inner), block: inner}
    return writers


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
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.For)):
            yield from _statements(statement.body)
