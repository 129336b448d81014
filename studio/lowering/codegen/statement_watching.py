"""Calls of a watcher around the statements of a generated program that compute nodes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from studio.lowering.codegen.syntax_trees import argument
from studio.lowering.codegen.syntax_trees import name as named

_BEGIN, _END = "_begin", "_end"
"""Names of the watcher's methods in the namespace; no name in a program begins with an underscore."""
_UNWATCHED = frozenset({"__init__", "data", "configure"})


class StatementWatcher(Protocol):
    """Observes the statements of `forward` and `losses` that belong to a node."""

    def begin(self, line: int, owner: Any, values: Mapping[str, Any], compute: Callable[..., Any]) -> None:
        """Called before a statement.

        Args:
            line: its number
            owner: the module or task whose method runs
            values: the local variables that it reads
            compute: evaluates it with other values of these variables, which are keyword arguments
        """

    def end(self, line: int, outputs: tuple[Any, ...]) -> None:
        """Called after a statement with the values that it assigns."""


def watch_statements(tree: ast.Module, lines: Mapping[int, str]) -> ast.Module:
    """Change a program's tree so that it calls a watcher before and after each statement that has a node.

    The computation is unchanged. The namespace must contain `watcher_names`.
    """
    for part in tree.body:
        for function in part.body if isinstance(part, ast.ClassDef) else ():
            if isinstance(function, ast.FunctionDef) and function.name not in _UNWATCHED:
                function.body = list(_watched(function.body, lines, _local_names(function)))
    return ast.fix_missing_locations(tree)


def watcher_names(watcher: StatementWatcher) -> dict[str, Callable[..., None]]:
    """What the namespace of a watched program contains."""
    return {_BEGIN: watcher.begin, _END: watcher.end}


def _local_names(function: ast.FunctionDef) -> frozenset[str]:
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return frozenset(stored | {argument.arg for argument in function.args.args[1:]})


def _watched(body: list[ast.stmt], lines: Mapping[int, str], known: frozenset[str]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.For):
            statement.body = list(_watched(statement.body, lines, known))
        if statement.lineno not in lines or not isinstance(statement, (ast.Assign, ast.Expr)):
            yield statement
            continue
        line: ast.expr = ast.Constant(statement.lineno)
        reads = _reads(statement.value, known)
        values = ast.Dict([ast.Constant(name) for name in reads], [named(name) for name in reads])
        arguments = ast.arguments([], [], None, [argument(name) for name in reads], [None for _ in reads], None, [])
        compute = ast.Lambda(arguments, statement.value)
        assigned: list[ast.expr] = [named(name) for name in _targets(statement)]
        yield _call(_BEGIN, [line, named("self"), values, compute], statement)
        yield statement
        yield _call(_END, [line, ast.Tuple(assigned, ast.Load())], statement)


def _call(name: str, arguments: list[ast.expr], location: ast.stmt) -> ast.stmt:
    call = ast.Expr(ast.Call(named(name, internal=True), arguments, []))
    return ast.copy_location(call, location)


def _reads(value: ast.expr, known: frozenset[str]) -> list[str]:
    names = (node.id for node in ast.walk(value) if isinstance(node, ast.Name))
    return sorted({name for name in names if name in known})


def _targets(statement: ast.Assign | ast.Expr) -> list[str]:
    if isinstance(statement, ast.Expr):
        return []
    [target] = statement.targets
    listed = target.elts if isinstance(target, ast.Tuple) else [target]
    return [each.id for each in listed if isinstance(each, ast.Name)]


__all__ = ["StatementWatcher", "watch_statements", "watcher_names"]
