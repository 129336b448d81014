"""Read module classes from Python source. The source is parsed and never executed."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from engine.system.syntax import parse_source
from studio.lowering.source_import.reading.callables import ImportedNames
from studio.lowering.source_import.reading.constructor_reader import read_constructor
from studio.lowering.source_import.reading.forward_reader import read_forward
from studio.lowering.source_import.reading.module_source import REQUIRED, ModuleSource
from studio.lowering.source_import.reading.source_errors import SourceError, refuse
from studio.nodes.catalogue import Catalogue

MAX_CHARACTERS = 1_000_000

_MODULE = "nn.Module"


@dataclass(frozen=True)
class Source:
    """Parsed text: the module classes that can be read, and all other statements."""

    names: ImportedNames
    classes: Mapping[str, ast.ClassDef]
    """Module classes by name, in order."""
    others: tuple[ast.stmt, ...]
    """Statements that are neither imports nor module classes."""


def parse(text: str, *, is_file: bool = False, code: Mapping[str, str] | None = None) -> Source:
    """Parse source.

    Args:
        code: sources of Python nodes, which the text does not have, by the name of their function or class
        is_file: also accept imports that no class may use, and classes that derive from other classes of the source

    Raises:
        SourceError: the text is no source, or imports something else than the engine.
    """
    if len(text) > MAX_CHARACTERS:
        raise SourceError(f"The source has {len(text):,} characters. At most {MAX_CHARACTERS:,} are read.")
    try:
        tree = parse_source(text)
    except SyntaxError as error:
        column = max((error.offset or 1) - 1, 0)
        raise SourceError(f"Syntax error: {error.msg}.", error.lineno or 1, column) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"This is not Python source: {error or 'it is nested too deeply'}.") from None
    names = ImportedNames(code)
    classes: dict[str, ast.ClassDef] = {}
    others: list[ast.stmt] = []
    for statement in tree.body:
        match statement:
            case ast.Import() | ast.ImportFrom():
                names.add(statement, is_strict=not is_file)
            case ast.ClassDef(bases=[base]) if names.path(base) in (_MODULE, "Module") or (
                is_file and isinstance(base, ast.Name) and base.id in classes
            ):
                if statement.name in classes:
                    refuse(statement, f"There are two classes {statement.name}. Rename one.")
                classes[statement.name] = statement
            case _:
                others.append(statement)
    return Source(names, classes, tuple(others))


def read_modules(
    source: Source,
    catalogue: Catalogue,
    wanted: str | None = None,
    statements: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
) -> dict[str, ModuleSource]:
    """Read module classes, those that others use first.

    Args:
        wanted: read this class and those that it uses; without it, all
        statements: by class, the targets and outputs of statements that stand for one node

    Raises:
        SourceError: no graph can express a class.
    """
    read: dict[str, ModuleSource] = {}
    open_classes: list[str] = []

    def visit(name: str) -> None:
        if name in read:
            return
        definition = source.classes[name]
        if name in open_classes:
            refuse(definition, f"The class {name} contains itself.")
        open_classes.append(name)
        for node in ast.walk(definition):
            match node:
                case ast.Call(func=ast.Name(id=used)) if used in source.classes:
                    visit(used)
                case _:
                    pass
        open_classes.remove(name)
        known: Mapping[str, tuple[str, ...]] = {} if statements is None else statements.get(name, {})
        read[name] = _read_class(definition, source.names, read, catalogue, known)

    try:
        for name in source.classes if wanted is None else [wanted]:
            visit(name)
    except RecursionError:
        raise SourceError("The source is nested too deeply. Split it into several statements.") from None
    return read


def _read_class(
    definition: ast.ClassDef,
    names: ImportedNames,
    classes: Mapping[str, ModuleSource],
    catalogue: Catalogue,
    statements: Mapping[str, tuple[str, ...]],
) -> ModuleSource:
    if definition.keywords or definition.decorator_list:
        refuse(definition, f"{definition.name} has a decorator or a keyword that no graph can express. Remove it.")
    methods: dict[str, ast.FunctionDef] = {}
    description = ""
    for index, statement in enumerate(definition.body):
        match statement:
            case ast.FunctionDef(name=name, decorator_list=[]):
                methods[name] = statement
            case ast.Expr(value=ast.Constant(value=str(text))) if index == 0:
                description = text
            case _:
                refuse(statement, "A class contains methods only. Remove this statement.")
    if "forward" not in methods:
        refuse(definition, f"{definition.name} has no method forward. Add it.")
    made = read_constructor(methods.pop("__init__", None), definition, names, classes, catalogue)
    forward = read_forward(methods, made, names, classes, catalogue, statements)
    if unknown := next((name for name in methods if name not in forward.methods), None):
        refuse(methods[unknown], f"forward does not call the method {unknown}. Call it, or remove it.")
    if missing := next((layer for name, layer in made.layers.items() if name not in forward.nodes), None):
        raise SourceError(f"forward does not call self.{missing.name}. Call it, or remove this line.", missing.line)
    return ModuleSource(
        definition.name,
        definition.lineno,
        made.arguments,
        forward.inputs,
        forward.nodes,
        forward.results,
        forward.result_names,
        forward.return_line,
        made.frozen_paths,
        description,
        made.initial_paths,
    )


__all__ = ["MAX_CHARACTERS", "REQUIRED", "Source", "parse", "read_modules"]
