"""Syntax trees as text with lines of limited length, as code formatters write it."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterable, Sequence

WIDTH = 88
"""Longest line: the default of Ruff and Black."""
INDENT = "    "
TOO_LONG = "  # noqa: E501"
"""Marks a line that cannot be broken, because of a long name or text."""


def source_of(statements: Iterable[ast.stmt], *, depth: int = 0) -> str:
    """The text of statements, without a line end after the last."""
    lines = [line for statement in statements for line in _statement(statement, depth)]
    return "\n".join(map(_marked, _double_quoted(lines)))


def _double_quoted(lines: list[str]) -> list[str]:
    """With double quotes around texts that contain neither quotes nor escapes."""
    found = [
        token
        for token in tokenize.generate_tokens(iter([f"{line}\n" for line in lines]).__next__)
        if token.type == tokenize.STRING and token.string[0] == "'" and not {'"', "\\"} & {*token.string}
    ]
    for token in reversed(found):
        row, (start, end) = token.start[0] - 1, (token.start[1], token.end[1])
        if token.end[0] == token.start[0] and not token.string.startswith("'''"):
            lines[row] = f'{lines[row][:start]}"{token.string[1:-1]}"{lines[row][end:]}'
    return lines


def _marked(line: str) -> str:
    return line + TOO_LONG if len(line) > WIDTH and not line.endswith(TOO_LONG) else line


def _statement(statement: ast.stmt, depth: int) -> list[str]:
    pad = INDENT * depth
    match statement:
        case ast.ClassDef():
            return [*_head(statement, pad), *_body(statement.body, depth + 1, spaced=True)]
        case ast.FunctionDef():
            return [*_function_head(statement, pad), *_body(statement.body, depth + 1)]
        case ast.For(orelse=[]):
            return [f"{pad}{_text(_without_body(statement))}", *_body(statement.body, depth + 1)]
        case ast.Assign(targets=[target]):
            return _folded(f"{_target(target)} = ", statement.value, "", depth)
        case ast.Return(value=ast.expr() as value):
            return _folded("return ", value, "", depth)
        case ast.Expr(value=ast.Constant(value=str() as text)):
            return _docstring(text, pad)
        case ast.Expr():
            return _folded("", statement.value, "", depth)
        case _:
            return [f"{pad}{line}" for line in ast.unparse(statement).splitlines()]


def _docstring(text: str, pad: str) -> list[str]:
    """A text that this package wrote itself, over one line or several."""
    lines = text.splitlines()
    ends = [f'{pad}"""{lines[0]}', *(f"{pad}{line}".rstrip() for line in lines[1:])]
    return [*ends, f'{pad}"""'] if len(lines) > 1 else [f'{ends[0]}"""']


def _body(body: Sequence[ast.stmt], depth: int, *, spaced: bool = False) -> list[str]:
    lines: list[str] = []
    for index, statement in enumerate(body):
        if index and (isinstance(statement, ast.FunctionDef) or (spaced and _is_docstring(body[index - 1]))):
            lines.append("")
        lines += _statement(statement, depth)
    return lines


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _head(statement: ast.ClassDef, pad: str) -> list[str]:
    bases = ", ".join(map(_text, statement.bases))
    return [f"{pad}class {statement.name}({bases}):" if bases else f"{pad}class {statement.name}:"]


def _function_head(statement: ast.FunctionDef, pad: str) -> list[str]:
    decorators = [f"{pad}@{_text(each)}" for each in statement.decorator_list]
    arguments = _text(statement.args)
    line = f"{pad}def {statement.name}({arguments}):"
    if len(line) <= WIDTH:
        return [*decorators, line]
    listed = [f"{pad}{INDENT}{each.arg}," for each in statement.args.args]
    return [*decorators, f"{pad}def {statement.name}(", *listed, f"{pad}):"]


def _without_body(statement: ast.For) -> ast.stmt:
    return ast.For(statement.target, statement.iter, [], [], lineno=0)


def _target(target: ast.expr) -> str:
    """`a, b` without the parentheses that a tuple has elsewhere."""
    if isinstance(target, ast.Tuple):
        names = ", ".join(map(_text, target.elts))
        return f"{names}," if len(target.elts) == 1 else names
    return _text(target)


def _folded(before: str, value: ast.expr, after: str, depth: int) -> list[str]:
    """`before value after` in one line if it fits, otherwise over several lines."""
    pad = INDENT * depth
    line = f"{pad}{before}{_text(value)}{after}"
    if len(line) <= WIDTH:
        return [line]
    match value:
        case ast.Call() if value.args or value.keywords:
            opening, parts, closing = f"{_text(value.func)}(", [*value.args, *value.keywords], ")"
        case ast.List() if value.elts:
            opening, parts, closing = "[", list(value.elts), "]"
        case ast.Tuple() if value.elts:
            opening, parts, closing = "(", list(value.elts), ")"
        case ast.Dict() if value.keys:
            return _folded_dict(before, value, after, depth)
        case ast.Starred():
            return _folded(f"{before}*", value.value, after, depth)
        case ast.BinOp() | ast.Subscript() | ast.Attribute():
            return [f"{pad}{before}(", *_folded("", value, "", depth + 1), f"{pad}){after}"] if before else [line]
        case _:
            return [line]
    lines = [f"{pad}{before}{opening}"]
    for part in parts:
        label, inner = (f"{part.arg}=", part.value) if isinstance(part, ast.keyword) else ("", part)
        lines += _folded(label, inner, ",", depth + 1)
    return [*lines, f"{pad}{closing}{after}"]


def _folded_dict(before: str, value: ast.Dict, after: str, depth: int) -> list[str]:
    pad = INDENT * depth
    lines = [f"{pad}{before}{{"]
    for key, item in zip(value.keys, value.values, strict=True):
        label = "**" if key is None else f"{_text(key)}: "
        lines += _folded(label, item, ",", depth + 1)
    return [*lines, f"{pad}}}{after}"]


def _text(node: ast.AST) -> str:
    return ast.unparse(node)


__all__ = ["source_of"]
