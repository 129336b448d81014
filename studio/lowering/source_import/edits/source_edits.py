"""Apply edited source of a program to the document that it was generated from. The source is never executed."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from studio.document.blocks.block_edits import remove_block, rename_block
from studio.document.document_errors import EditError
from studio.document.model import Block, Document
from studio.lowering.program import Program
from studio.lowering.source_import.edits.module_change import Classes, Graph, ModuleChange
from studio.lowering.source_import.edits.module_edits import apply_change
from studio.lowering.source_import.edits.task_edits import edit_task
from studio.lowering.source_import.reading.code_text import ProgramText, edited_text, generated_text
from studio.lowering.source_import.reading.known_statements import known_statements
from studio.lowering.source_import.reading.module_source import ModuleSource
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.lowering.source_import.reading.source_reader import Source, parse, read_modules
from studio.nodes.catalogue import Catalogue
from studio.nodes.python_node import PYTHON, source_of


def apply_source(document: Document, program: Program, text: str, catalogue: Catalogue) -> Document:
    """The document with the changes between the source of its program and an edited version of it.

    Nodes, wires and parameters that the source does not mention are kept; the result is `document` if nothing changed.

    Raises:
        SourceError: no graph can express the source. Its text says why, with the location.
    """
    if text == program.source:
        return document
    typed = edited_text(text, program.code)
    _check_comments(typed.graph)
    before, after = _parsed(generated_text(program)), _parsed(typed)
    if program.model_class not in after.classes:
        raise SourceError(f"The class {program.model_class} is missing. It is the model; its name is the project's.")
    document, before, program = _renamed_classes(document, before, after, program)
    known = known_statements(document, catalogue, before.classes, program.names, program.lines)
    old = read_modules(before, catalogue, statements=known)
    new = read_modules(after, catalogue, statements=known)
    _check_used(typed, new)
    document, renamed = _edit_classes(document, program, Classes(old, new), catalogue)
    task = _task(after, program.task_class)
    return edit_task(document, catalogue, _task(before), task, program.lines, renamed)


def read_edited(text: str, program: Program, catalogue: Catalogue) -> dict[str, ModuleSource]:
    """The classes of an edited program. Raises SourceError."""
    return read_modules(_parsed(edited_text(text, program.code)), catalogue)


def _parsed(program: ProgramText) -> Source:
    return parse(program.graph, code=program.sources)


def _check_used(typed: ProgramText, modules: Mapping[str, ModuleSource]) -> None:
    """Refuse new sources that no node has, as the graph would lose them."""
    nodes = [node for module in modules.values() for node in module.nodes.values()]
    used = {source_of(node.arguments) for node in nodes if node.target == PYTHON}
    for section in typed.sections:
        if not section.is_known and section.source not in used:
            raise SourceError(f"No class uses {section.entry}. Call it in forward, or remove it.", section.first_line)


def _check_comments(text: str) -> None:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                raise SourceError(
                    "A graph has no comments. Write it as the note of a node.",
                    token.start[0],
                    token.start[1],
                    token.end[0],
                    token.end[1],
                )
    except (tokenize.TokenError, SyntaxError):
        return  # which parsing reports


def _renamed_classes(
    document: Document, before: Source, after: Source, program: Program
) -> tuple[Document, Source, Program]:
    """Rename blocks whose class has another name, which is the one that the same attributes now use."""
    removed = [name for name in before.classes if name not in after.classes]
    made_before, made_after = _constructions(before), _constructions(after)
    for old in removed:
        places = [place for place, title in made_before.items() if title == old]
        titles = {made_after[place] for place in places if place in made_after}
        new = next(iter(titles), "") if len(titles) == 1 else ""
        if new not in after.classes or new in before.classes:
            continue
        try:
            document = rename_block(document, program.names[old].block, new)
        except EditError as error:
            raise SourceError(str(error), after.classes[new].lineno) from None
        names = {new if title == old else title: each for title, each in program.names.items()}
        names[new] = replace(names[new], block=new)
        program = replace(program, names=names)
        before = _with_renamed_class(before, old, new)
        made_before = {place: new if title == old else title for place, title in made_before.items()}
    return document, before, program


def _constructions(source: Source) -> dict[tuple[str, str], str]:
    """The class that each attribute of each class is made of."""
    made: dict[tuple[str, str], str] = {}
    for definition in source.classes.values():
        for node in ast.walk(definition):
            match node:
                case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=attribute)], value=value):
                    for called in ast.walk(value):
                        if isinstance(called, ast.Name) and called.id in source.classes:
                            made[definition.name, attribute] = called.id
                case _:
                    pass
    return made


def _with_renamed_class(source: Source, old: str, new: str) -> Source:
    for definition in source.classes.values():
        if definition.name == old:
            definition.name = new
        for node in ast.walk(definition):
            if isinstance(node, ast.Name) and node.id == old:
                node.id = new
    return replace(source, classes={each.name: each for each in source.classes.values()})


def _edit_classes(
    document: Document, program: Program, classes: Classes, catalogue: Catalogue
) -> tuple[Document, dict[str, str]]:
    """The document after edits of all classes, and the new names of renamed nodes."""
    renamed: dict[str, str] = {}
    for title, new in classes.new.items():
        if title not in classes.old:
            document, before = _added_block(document, new)
            old = ModuleSource(title, new.line, {}, (), {}, ())
        else:
            old = classes.old[title]
            before = _graph(program, old)
            if new.description and not before.block:
                raise SourceError(
                    "The model has no docstring. Write it as the description of the project.", new.line + 1
                )
        change = ModuleChange(document, catalogue, old, before, new, classes)
        document = apply_change(change)
        renamed |= change.renamed
        classes.graphs[title], classes.previous[title] = change.after, change.previous
    for title in classes.old:
        if title not in classes.new:
            try:
                document = remove_block(document, program.names[title].block)
            except EditError:
                continue  # used by nodes that do not belong to the run
    return document, renamed


def _graph(program: Program, old: ModuleSource) -> Graph:
    names = program.names[old.name]
    return Graph(
        names.block,
        list(names.inputs),
        list(names.ports),
        list(names.outputs),
        names.available,
        {node.name: program.lines[node.line].rpartition(".")[2] for node in old.nodes.values()},
        dict(names.arguments),
    )


def _added_block(document: Document, new: ModuleSource) -> tuple[Document, Graph]:
    if new.name in document.blocks:
        raise SourceError(f"There is already a block {new.name}. Choose another name.", new.line)
    block = Block(description=new.description)
    return structs.replace(document, blocks={**document.blocks, new.name: block}), Graph(new.name, [])


def _task(source: Source, wanted: str | None = None) -> ast.ClassDef:
    """The class of the training, which is the last."""
    found = [each for each in source.others if isinstance(each, ast.ClassDef)]
    other = next((each for each in source.others if not isinstance(each, ast.ClassDef)), None)
    if other is not None:
        raise SourceError("A program contains imports and classes only. Remove this statement.", other.lineno)
    if wanted is not None and [each.name for each in found] != [wanted]:
        extra = next((each for each in found if each.name != wanted), None)
        if extra is not None:
            raise SourceError(f"{extra.name} is no nn.Module. Remove it.", extra.lineno)
        raise SourceError(f"The class {wanted} is missing. Revert the code.")
    return found[0]


__all__ = ["apply_source", "read_edited"]
