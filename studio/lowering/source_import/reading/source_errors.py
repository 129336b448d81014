"""Errors of source that has no graph, with their location."""

from __future__ import annotations

import ast
from typing import NoReturn


class SourceError(Exception):
    """Source that no graph can express. The text of the exception says why and what to do.

    Args:
        line: from 1
        column: of the first character, from 0
        end_line: line of the last character
        end_column: column after the last character
    """

    def __init__(
        self, message: str, line: int = 1, column: int = 0, end_line: int | None = None, end_column: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line, self.column = line, column
        self.end_line = line if end_line is None else end_line
        self.end_column = end_column
        """None for the end of the line."""


def refuse(node: ast.AST, message: str) -> NoReturn:
    """Raise a SourceError at a node of the syntax tree."""
    raise SourceError(
        message,
        getattr(node, "lineno", 1),
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", None),
        getattr(node, "end_col_offset", None),
    )


def shown(node: ast.AST, length: int = 60) -> str:
    """The source of a node, shortened for messages."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= length else f"{text[:length]}…"


__all__ = ["SourceError", "refuse", "shown"]
