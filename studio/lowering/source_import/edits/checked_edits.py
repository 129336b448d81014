"""Edited source that is applied and checked, so that errors of the new graph are reported at lines of the source."""

from __future__ import annotations

import re
from pathlib import Path

from studio.document.blocks.block_expansion import Expansion
from studio.document.model import Document
from studio.lowering.check import Checker
from studio.lowering.problems.problem import Problem
from studio.lowering.program import Program
from studio.lowering.report import Report
from studio.lowering.source_import.edits.inferred_sizes import infer_sizes
from studio.lowering.source_import.edits.source_edits import apply_source, read_edited
from studio.lowering.source_import.reading.code_text import edited_text
from studio.lowering.source_import.reading.module_source import NodeSource
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.nodes.catalogue import Catalogue
from studio.nodes.python_node import PYTHON, source_of


def apply_checked(
    document: Document, report: Report, program: Program, text: str, catalogue: Catalogue, base: Path | None = None
) -> Document:
    """The document with the changes in the edited source of its program.

    Args:
        report: the result of checking `document`
        base: folder of the project file

    Raises:
        SourceError: no graph can express the source, or the graph would have an error.
    """
    try:
        after = apply_source(document, program, text, catalogue)
    except RecursionError:
        raise SourceError("The source is nested too deeply. Split it into several statements.") from None
    if after is document:
        return document
    checker = Checker(report)
    after = infer_sizes(document, after, catalogue, lambda each: checker.check(each, catalogue, base))
    errors = checker.check(after, catalogue, base).errors
    if errors:
        raise SourceError(errors[0].message, _line_of(errors[0], after, text, program, catalogue))
    return after


def _line_of(problem: Problem, document: Document, text: str, program: Program, catalogue: Catalogue) -> int:
    """The line that makes the node that has a problem."""
    classes = read_edited(text, program, catalogue)
    block, name = _located(document, problem.node or problem.affected or "")
    titles = {each.block: title for title, each in program.names.items()}
    for title in (titles.get(block, block), program.model_class):
        node = classes[title].nodes.get(name) if title in classes else None
        if node is not None:
            return _code_line(problem, node, text, program) or node.made_line
    return classes[program.model_class].line


def _code_line(problem: Problem, node: NodeSource, text: str, program: Program) -> int | None:
    """The line of the code of a Python node that failed."""
    found = re.match(r"[^:]*: line (\d+): ", problem.message) if node.target == PYTHON else None
    sections = edited_text(text, program.code).sections if found is not None else ()
    section = next((each for each in sections if each.source == source_of(node.arguments)), None)
    return None if section is None or found is None else section.first_line + int(found[1]) - 1


def _located(document: Document, path: str) -> tuple[str, str]:
    """The block of a node, and its name there."""
    try:
        scope, name = Expansion(document).locate(path)
    except (KeyError, ValueError, IndexError):
        return "", path
    return scope.block, name


__all__ = ["apply_checked"]
