"""Edited source that is applied and checked, so that errors of the new graph are reported at lines of the source."""

from __future__ import annotations

from pathlib import Path

from studio.document.block_expansion import Expansion
from studio.document.model import Document
from studio.lowering.check import Checker
from studio.lowering.problems.problem import Problem
from studio.lowering.program import Program
from studio.lowering.report import Report
from studio.lowering.source_import.inferred_sizes import infer_sizes
from studio.lowering.source_import.source_edits import apply_source
from studio.lowering.source_import.source_errors import SourceError
from studio.lowering.source_import.source_reader import parse, read_modules
from studio.nodes.catalogue import Catalogue


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
    classes = read_modules(parse(text), catalogue)
    block, name = _located(document, problem.node or problem.affected or "")
    titles = {each.block: title for title, each in program.names.items()}
    for title in (titles.get(block, block), program.model_class):
        node = classes[title].nodes.get(name) if title in classes else None
        if node is not None:
            return node.made_line
    return classes[program.model_class].line


def _located(document: Document, path: str) -> tuple[str, str]:
    """The block of a node, and its name there."""
    try:
        scope, name = Expansion(document).locate(path)
    except (KeyError, ValueError, IndexError):
        return "", path
    return scope.block, name


__all__ = ["apply_checked"]
