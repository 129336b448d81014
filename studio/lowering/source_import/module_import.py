"""Make blocks of the module classes in a Python file. The file is parsed and never executed."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from studio.document import blocks, edits
from studio.document import node_names as naming
from studio.document.block_edits import with_blocks
from studio.document.model import Block, Document, Node
from studio.lowering.source_import.file_code import FileCode
from studio.lowering.source_import.module_change import Classes, Graph, ModuleChange
from studio.lowering.source_import.module_edits import apply_change
from studio.lowering.source_import.module_expansion import expand_modules
from studio.lowering.source_import.module_source import ModuleSource
from studio.lowering.source_import.source_errors import SourceError
from studio.lowering.source_import.source_reader import Source, parse, read_modules
from studio.nodes.catalogue import Catalogue
from studio.nodes.python_node import PYTHON, SOURCE

_MOST_CODE = 50
"""Largest number of parts of a file that become Python nodes."""


def module_classes(text: str) -> list[str]:
    """Names of the module classes of a file, in order. Raises SourceError."""
    return list(parse(text, is_file=True).classes)


def import_module(text: str, catalogue: Catalogue, title: str | None = None, *, python_nodes: bool = False) -> Document:
    """A document with a block for a module class and for each class that it uses, and an instance of it.

    Args:
        title: name of the class; the last one without it
        python_nodes: make Python nodes of classes and functions that no graph can express; their code is not trusted

    Raises:
        SourceError: no graph can express the class.
    """
    source = parse(text, is_file=True)
    if not source.classes:
        raise SourceError("The file has no class that derives from nn.Module.")
    name = title or list(source.classes)[-1]
    if name not in source.classes:
        raise SourceError(
            f"The file has no class {name} that derives from nn.Module; it has {', '.join(source.classes)}."
        )
    document = Document()
    source = _with_code(text, source, catalogue, name) if python_nodes else source
    if name in source.names.code:
        node = Node(PYTHON, {SOURCE: source.names.code[name]})
        return edits.add(document, naming.to_identifier(name), node)
    classes = Classes({}, _modules(source, catalogue, name))
    for module in classes.new.values():
        document = structs.replace(
            document, blocks={**document.blocks, module.name: Block(description=module.description)}
        )
        empty = ModuleSource(module.name, module.line, {}, (), {}, ())
        change = ModuleChange(document, catalogue, empty, Graph(module.name, []), module, classes)
        document = apply_change(change)
        classes.graphs[module.name], classes.previous[module.name] = change.after, change.previous
    instance = Node(blocks.type_of(name))
    return edits.add(document, naming.to_identifier(name), instance)


def _modules(source: Source, catalogue: Catalogue, name: str) -> dict[str, ModuleSource]:
    """The class and those that it uses, expanded if they cannot be read as they are."""
    try:
        return read_modules(source, catalogue, name)
    except SourceError:
        return read_modules(expand_modules(source, name), catalogue, name)


def _with_code(text: str, source: Source, catalogue: Catalogue, name: str) -> Source:
    """The source with the code of Python nodes in place of the parts that cannot be read. Raises SourceError."""
    file, code = FileCode(text), dict[str, str]()
    while name not in code:
        try:
            _modules(source, catalogue, name)
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
