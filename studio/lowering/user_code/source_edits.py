"""Edits of source text by the positions of syntax tree nodes, so that comments and layout stay."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replaces the text between two positions: the line, from 1, and the column in bytes of UTF-8."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def start_of(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def end_of(node: ast.expr | ast.stmt) -> tuple[int, int]:
    """The position after a node."""
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def replaced(node: ast.expr | ast.stmt, text: str) -> TextEdit:
    return TextEdit(start_of(node), end_of(node), text)


def wrapped(node: ast.expr, before: str, after: str) -> tuple[TextEdit, ...]:
    """Text before and after an expression."""
    return TextEdit(start_of(node), start_of(node), before), TextEdit(end_of(node), end_of(node), after)


def added_argument(call: ast.Call, text: str) -> TextEdit:
    """A further argument at the end of a call."""
    given: list[ast.expr] = [*call.args, *(each.value for each in call.keywords)]
    if given:
        end = max(map(end_of, given))
        return TextEdit(end, end, f", {text}")
    line, column = end_of(call)
    return TextEdit((line, column - 1), (line, column - 1), text)


def without_statement(statement: ast.stmt, body: list[ast.stmt]) -> TextEdit:
    """Removes a statement of a body; `pass` replaces the only one."""
    if len(body) == 1:
        return replaced(statement, "pass")
    index = body.index(statement)
    if index + 1 < len(body):
        return TextEdit(start_of(statement), start_of(body[index + 1]), "")
    return TextEdit(end_of(body[index - 1]), end_of(statement), "")


def edited(source: str, edits: Iterable[TextEdit]) -> str:
    """The source after edits that do not overlap."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    text = b"".join(lines)
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        first, last = (starts[line - 1] + column for line, column in (edit.start, edit.end))
        text = text[:first] + edit.text.encode() + text[last:]
    return text.decode()


__all__ = ["TextEdit", "added_argument", "edited", "end_of", "replaced", "start_of", "without_statement", "wrapped"]
