"""Make blocks of the module classes in a Python file. The file is parsed and never executed."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from msgspec import structs

from engine.system.syntax import parse_source
from studio.document import edits
from studio.document import node_names as naming
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import with_blocks
from studio.document.model import Block, Document, Node
from studio.lowering.source_import.edits.module_change import Classes, Graph, ModuleChange
from studio.lowering.source_import.edits.module_edits import apply_change
from studio.lowering.source_import.expansion.module_expansion import expand_call, expand_modules
from studio.lowering.source_import.file_code import FileCode
from studio.lowering.source_import.reading.definition_values import to_json
from studio.lowering.source_import.reading.literal_values import literal_value
from studio.lowering.source_import.reading.module_source import ModuleSource
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.lowering.source_import.reading.source_reader import Source, parse, read_modules
from studio.nodes.catalogue import Catalogue
from studio.nodes.python_node import PYTHON, SOURCE

_LONGEST_CALL = 1000
"""Largest number of characters of a call."""
_MOST_CODE = 50
"""Largest number of parts of a file that become Python nodes."""


def module_classes(text: str) -> list[str]:
    """What a file can be imported as, in order: its module classes, and calls of functions that make one of them.

    Raises SourceError.
    """
    source = parse(text, is_file=True)
    makers = [each for each in source.others if isinstance(each, ast.FunctionDef) and _makes_module(each, source)]
    return [*(f"{each.name}()" for each in makers), *source.classes]


def _makes_module(function: ast.FunctionDef, source: Source) -> bool:
    """Whether a function without required arguments returns a call of a class, or of another function."""
    required = len(function.args.args) - len(function.args.defaults) + function.args.kw_defaults.count(None)
    called = {each.name for each in source.others if isinstance(each, ast.FunctionDef)} | source.classes.keys()
    match function.body[-1:]:
        case [ast.Return(value=ast.Call(func=ast.Name(id=name)))]:
            return not required and name in called
        case _:
            return False


def import_module(text: str, catalogue: Catalogue, title: str | None = None, *, python_nodes: bool = False) -> Document:
    """A document with a block for a module class and for each class that it uses, and an instance of it.

    Args:
        title: name of the class, or a call such as "ResNet(BasicBlock, [2, 2])" or "resnet18()"; without it, the
            last class
        python_nodes: make Python nodes of classes and functions that no graph can express; their code is not trusted

    Raises:
        SourceError: no graph can express the class.
    """
    source = parse(text, is_file=True)
    if not source.classes:
        raise SourceError("The file has no class that derives from nn.Module.")
    name = title or list(source.classes)[-1]
    if (call := _call(name)) is not None:
        if python_nodes:
            source = _with_code(text, source, name, lambda each: _of_call(each, call, catalogue))
        source, made = expand_call(source, call)
        assert isinstance(made.func, ast.Name)
        document, params = _blocks(read_modules(source, catalogue, made.func.id), catalogue)
        values = {each.arg: to_json(literal_value(each.value, {})) for each in made.keywords}
        given = {params[name]: value for name, value in values.items() if name in params}
        return edits.add(document, naming.to_identifier(made.func.id), Node(block_nodes.type_of(made.func.id), given))
    if name not in source.classes:
        raise SourceError(
            f"The file has no class {name} that derives from nn.Module; it has {', '.join(source.classes)}."
        )
    source = _with_code(text, source, name, lambda each: _modules(each, catalogue, name)) if python_nodes else source
    if name in source.names.code:
        node = Node(PYTHON, {SOURCE: source.names.code[name]})
        return edits.add(Document(), naming.to_identifier(name), node)
    document, _ = _blocks(_modules(source, catalogue, name), catalogue)
    return edits.add(document, naming.to_identifier(name), Node(block_nodes.type_of(name)))


def _call(title: str) -> ast.Call | None:
    """The call that a title is; None for a name. Raises SourceError."""
    if title.isidentifier() or len(title) > _LONGEST_CALL:
        return None
    try:
        [statement] = parse_source(title).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    return cast("ast.Call", cast("ast.Expr", statement).value) if is_call else None


def _blocks(modules: dict[str, ModuleSource], catalogue: Catalogue) -> tuple[Document, dict[str, str]]:
    """A document with a block for each class, and the promoted parameters of the last by argument."""
    document, params = Document(), dict[str, str]()
    classes = Classes({}, modules)
    for module in classes.new.values():
        document = structs.replace(
            document, blocks={**document.blocks, module.name: Block(description=module.description)}
        )
        empty = ModuleSource(module.name, module.line, {}, (), {}, ())
        change = ModuleChange(document, catalogue, empty, Graph(module.name, []), module, classes)
        document = apply_change(change)
        classes.graphs[module.name], classes.previous[module.name] = change.after, change.previous
        params = change.after.params
    return document, params


def _modules(source: Source, catalogue: Catalogue, name: str) -> dict[str, ModuleSource]:
    """The class and those that it uses, expanded if they cannot be read as they are."""
    try:
        return read_modules(source, catalogue, name)
    except SourceError:
        return read_modules(expand_modules(source, name), catalogue, name)


def _of_call(source: Source, call: ast.Call, catalogue: Catalogue) -> dict[str, ModuleSource]:
    expanded, made = expand_call(source, call)
    assert isinstance(made.func, ast.Name)
    return read_modules(expanded, catalogue, made.func.id)


def _with_code(text: str, source: Source, name: str, read: Callable[[Source], object]) -> Source:
    """The source with the code of Python nodes in place of the parts that `read` refuses. Raises SourceError."""
    file, code = FileCode(text), dict[str, str]()
    while name not in code:
        try:
            read(source)
        except SourceError as error:
            part = next((each for each in file.parts_at(error.line) if each not in code), None)
            if part is None or len(code) >= _MOST_CODE:
                raise
            code[part] = file.source(part)
        else:
            break
        while (derived := file.derived(code)) is not None:
            code[derived] = file.source(derived)
        parsed = parse(text, is_file=True, code=code)
        source = replace(parsed, classes={title: each for title, each in parsed.classes.items() if title not in code})
    return source


def insert_module(
    document: Document,
    text: str,
    catalogue: Catalogue,
    title: str | None = None,
    at: tuple[float, float] = (0.0, 0.0),
    *,
    python_nodes: bool = False,
) -> tuple[Document, list[str], list[str]]:
    """The document with a module class as a block and an instance of it at a position; its blocks and new nodes.

    Args:
        python_nodes: make Python nodes of what no graph can express, as `import_module`

    Raises:
        SourceError: no graph can express the class.
    """
    document, made = with_blocks(document, import_module(text, catalogue, title, python_nodes=python_nodes))
    names: list[str] = []
    for name, node in made.nodes.items():
        names.append(edits.unique_name(document, name))
        document = edits.add(document, names[-1], structs.replace(node, at=at))
    return document, list(made.blocks), names


__all__ = ["import_module", "insert_module", "module_classes"]
