"""The statement of a graph break in the source of a Python node, and what the rules need to know about it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from studio.lowering.user_code.code_findings import CodeFunction
from studio.lowering.user_code.code_mistakes import code_functions
from studio.lowering.user_code.source_edits import TextEdit, end_of, start_of

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A change of the source that could remove a graph break. Whether its results are equal is not known yet."""

    title: str
    edits: tuple[TextEdit, ...]
    forced: tuple[TextEdit, ...] = ()
    """For conditions: edits of the source before that pass each condition to `FORCED`, to try both branches."""
    forced_after: tuple[TextEdit, ...] = ()
    """Like `edits`, with each condition passed to `FORCED`."""
    note: str = ""
    """What the code does no longer do, as a sentence; empty if it does the same."""


FORCED = "_gradwire_condition"
"""Name of the function that gets the position and value of a condition while both branches are tried."""


@dataclass(frozen=True)
class BreakLocation:
    """A statement that breaks the graph."""

    source: str
    function: CodeFunction
    statement: ast.stmt
    body: list[ast.stmt] = field(repr=False)
    """The statements of its block."""

    @property
    def engine(self) -> str:
        """The name under which the source calls the engine."""
        has_torch = re.search(r"\btorch\.", self.source) is not None
        return "torch" if has_torch and re.search(r"\bengine\.", self.source) is None else "engine"

    @property
    def following(self) -> list[ast.stmt]:
        return self.body[self.body.index(self.statement) + 1 :]

    @property
    def header(self) -> list[ast.AST]:
        """What the line of the break evaluates: the statement without the blocks in it."""
        match self.statement:
            case ast.If(test=test) | ast.While(test=test):
                return [test]
            case ast.For(iter=iterated):
                return [iterated]
            case ast.With(items=items):
                return list(items)
            case _:
                return [self.statement]

    def nodes(self) -> Iterator[ast.AST]:
        for part in self.header:
            yield from ast.walk(part)

    def text(self, node: ast.AST) -> str:
        """An expression as it is written; in one line."""
        found = ast.get_source_segment(self.source, node) if isinstance(node, ast.expr) else None
        return found if found is not None and "\n" not in found else ast.unparse(node)

    def operand(self, node: ast.expr) -> str:
        """An expression that a method can be called on."""
        text = self.text(node)
        return text if isinstance(node, _ATOMS) and not isinstance(node, ast.Constant) else f"({text})"

    def replaced(self, lines: list[str], last: ast.stmt | None = None) -> TextEdit:
        """An edit that replaces the statement, or all up to another one. Comments in between stay, above."""
        begin, end = start_of(self.statement), end_of(last or self.statement)
        indent = " " * self.statement.col_offset
        kept = [*comments_between(self.source, begin, end), *lines]
        return TextEdit(begin, end, f"\n{indent}".join(kept))

    def reads(self, name: str, outside: list[ast.stmt]) -> bool:
        """Whether the function uses a variable anywhere but in some statements."""
        inside = {each for statement in outside for each in ast.walk(statement)}
        names = (each for each in self.function.nodes() if isinstance(each, ast.Name) and each.id == name)
        arguments = {each.arg for each in ast.walk(self.function.tree.args) if isinstance(each, ast.arg)}
        return name in arguments or any(each not in inside for each in names)

    def unused_name(self, wanted: str) -> str:
        used = {each.id for each in self.function.nodes() if isinstance(each, ast.Name)}
        return next(name for name in (wanted, *(f"{wanted}{index}" for index in range(2, 99))) if name not in used)


def locations_at(source: str, line: int) -> list[BreakLocation]:
    """The statements whose expressions are on a line, innermost first."""
    found: list[BreakLocation] = []
    for function in code_functions(source):
        for body in function.bodies():
            for statement in body:
                location = BreakLocation(source, function, statement, body)
                ends = (getattr(part, "end_lineno", None) or statement.lineno for part in location.header)
                is_function = isinstance(statement, (ast.FunctionDef, ast.ClassDef))
                if not is_function and statement.lineno <= line <= max(ends):
                    found.append(location)
    return sorted(found, key=lambda each: (-each.statement.lineno, -each.statement.col_offset))


def comments_between(source: str, begin: tuple[int, int], end: tuple[int, int]) -> list[str]:
    """The comments in a part of the source, in order."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    return [each.string for each in tokens if each.type == tokenize.COMMENT and begin <= each.start < end]


Rule = Callable[[BreakLocation], Iterator[Rewrite]]

__all__ = ["FORCED", "BreakLocation", "Rewrite", "Rule", "comments_between", "locations_at"]
