"""Conditions on values of tensors in the source of Python nodes, written as a choice between tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from studio.lowering.user_code.code_findings import CodeFunction
from studio.lowering.user_code.code_mistakes import code_functions
from studio.lowering.user_code.source_edits import TextEdit, edited, end_of, start_of
from studio.nodes.python_source import CodeError

REPETITIONS = 16
"""Repetitions that replace a `while` on a tensor, whose number nothing but values determines."""


def without_conditions(source: str) -> str | None:
    """The source with `engine.where` instead of each `if` and `while` on a tensor; None if one cannot be rewritten.

    A loop has a limited number of repetitions then.
    """
    edits: list[TextEdit] = []
    try:
        for function in code_functions(source):
            for found in _rewrites(function):
                if found is None:
                    return None
                edits.append(found)
    except (CodeError, RecursionError):
        return None
    return edited(source, edits) if edits else None


def _rewrites(function: CodeFunction) -> Iterator[TextEdit | None]:
    for body in function.bodies():
        for statement in body:
            match statement:
                case ast.While(test=test) if function.tensors.holds(test):
                    yield _bounded(statement)
                case ast.If(test=test) if function.tensors.holds(test):
                    yield _choice(statement, body)
                case _:
                    pass


def _bounded(statement: ast.While) -> TextEdit | None:
    """An edit for `while test: x = a`."""
    match statement:
        case ast.While(test=test, body=[ast.Assign(targets=[ast.Name(id=name)], value=value)], orelse=[]):
            pass
        case ast.While(
            test=test, body=[ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=new)], orelse=[]
        ):
            value = ast.BinOp(target, op, new)
        case _:
            return None
    indent = " " * (statement.col_offset + 4)
    loop = f"for _ in range({REPETITIONS}):\n{indent}{_assigned(name, test, value, name)}"
    return TextEdit(start_of(statement), end_of(statement), loop)


def has_loop(source: str) -> bool:
    """Whether a rewrite of the source limits the repetitions of a loop."""
    found = (statement for each in code_functions(source) for body in each.bodies() for statement in body)
    return any(isinstance(each, ast.While) for each in found)


def _choice(statement: ast.If, body: list[ast.stmt]) -> TextEdit | None:
    """An edit for `if test: x = a`, perhaps with `else: x = b`, or with `return` in both."""
    following = body[body.index(statement) + 1 :]
    other = statement.orelse or following[:1]
    match statement.body, other:
        case [ast.Return(value=ast.expr() as value)], [ast.Return(value=ast.expr() as alternative) as last]:
            text = f"return {_where(statement.test, value, alternative)}"
            return TextEdit(start_of(statement), end_of(last), text)
        case [ast.Assign(targets=[ast.Name(id=name)], value=value)], _:
            if not statement.orelse:
                return TextEdit(start_of(statement), end_of(statement), _assigned(name, statement.test, value, name))
            match statement.orelse:
                case [ast.Assign(targets=[ast.Name(id=again)], value=alternative)] if again == name:
                    text = _assigned(name, statement.test, value, ast.unparse(alternative))
                    return TextEdit(start_of(statement), end_of(statement), text)
                case _:
                    return None
        case [ast.AugAssign(target=ast.Name(id=name) as target, op=operator, value=value)], _ if not statement.orelse:
            changed = ast.BinOp(target, operator, value)
            return TextEdit(start_of(statement), end_of(statement), _assigned(name, statement.test, changed, name))
        case _:
            return None


def _assigned(name: str, test: ast.expr, value: ast.expr, alternative: str) -> str:
    return f"{name} = engine.where({ast.unparse(test)}, {ast.unparse(value)}, {alternative})"


def _where(test: ast.expr, value: ast.expr, alternative: ast.expr) -> str:
    return f"engine.where({ast.unparse(test)}, {ast.unparse(value)}, {ast.unparse(alternative)})"


__all__ = ["REPETITIONS", "has_loop", "without_conditions"]
