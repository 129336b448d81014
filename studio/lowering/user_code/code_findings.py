"""What the rules for the source of Python nodes read and yield."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from studio.lowering.user_code.code_values import TensorNames
from studio.lowering.user_code.source_edits import TextEdit

MAX_CHARACTERS = 40
"""Maximum length of an expression in a message."""


@dataclass(frozen=True, slots=True)
class CodeFunction:
    """A function, or a method of a module class."""

    tree: ast.FunctionDef
    owner: ast.ClassDef | None
    tensors: TensorNames
    modules: frozenset[str]
    """Names of the module classes of the source."""
    source: str
    """The whole source."""

    @property
    def makes_layers(self) -> bool:
        return self.owner is not None and self.tree.name == "__init__"

    def nodes(self) -> Iterator[ast.AST]:
        for statement in self.tree.body:
            yield from ast.walk(statement)

    def bodies(self) -> Iterator[list[ast.stmt]]:
        """The lists of statements in it."""
        for node in ast.walk(self.tree):
            for field in ("body", "orelse", "finalbody"):
                body = getattr(node, field, None)
                if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                    yield body


@dataclass(frozen=True, slots=True)
class Finding:
    """A line with a mistake."""

    code: str
    node: ast.expr | ast.stmt
    message: str
    """What the line does, and the next step, without a period."""
    title: str
    """Title of the fix."""
    edits: tuple[TextEdit, ...] = ()
    """Empty if there is no automatic correction."""


Rule: TypeAlias = Callable[[CodeFunction], Iterator[Finding]]


def shown(node: ast.AST) -> str:
    """An expression in a message."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"


__all__ = ["CodeFunction", "Finding", "Rule", "shown"]
