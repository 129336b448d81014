"""Replaces names of the top level of a source, where they are not names of a function or class inside it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

Tree = TypeVar("Tree", bound=ast.AST)

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)


def replace_globals(tree: ast.Module, names: Mapping[str, str]) -> ast.Module:
    """Replace names of the top level, in place.

    Args:
        names: new names by old ones
    """
    for statement in tree.body:
        _replace(statement, dict(names))
    return tree


def _replace(node: ast.AST, names: Mapping[str, str]) -> None:
    if isinstance(node, ast.Name):
        node.id = names.get(node.id, node.id)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        node.name = names.get(node.name, node.name)
    elif isinstance(node, ast.Global):
        node.names = [names.get(name, name) for name in node.names]
    elif isinstance(node, ast.alias):
        _replace_alias(node, names)
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name is not None:
        node.name = names.get(node.name, node.name)
    inner = _inside(node, names)
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(child, ast.AST):
                is_outside = field in ("decorator_list", "returns", "bases", "keywords", "args")
                _replace_arguments(child, names, inner) if isinstance(child, ast.arguments) else _replace(
                    child, names if is_outside else inner
                )


def _replace_arguments(arguments: ast.arguments, names: Mapping[str, str], inner: Mapping[str, str]) -> None:
    """Defaults and annotations are evaluated outside the function."""
    for child in ast.iter_child_nodes(arguments):
        _replace(child, names)


def _replace_alias(alias: ast.alias, names: Mapping[str, str]) -> None:
    """`import numpy` becomes `import numpy as numpy_`."""
    bound = alias.asname or alias.name
    if bound in names:
        alias.asname = names[bound]


def _inside(node: ast.AST, names: Mapping[str, str]) -> Mapping[str, str]:
    """The names that are those of the top level inside a node."""
    if not isinstance(node, _SCOPES):
        return names
    local = set(_locals(node))
    return {old: new for old, new in names.items() if old not in local}


def _locals(scope: Any) -> Iterable[str]:
    """Names that a function, class or comprehension defines, without those in scopes inside it."""
    if isinstance(scope, _FUNCTIONS):
        yield from (node.arg for node in ast.walk(scope.args) if isinstance(node, ast.arg))
    declared_global: set[str] = set()
    found: set[str] = set()
    waiting: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Global(names=listed):
                declared_global.update(listed)
            case ast.alias(name=name, asname=bound):
                found.add((bound or name).partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case _:
                pass
        if not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))
    yield from found - declared_global


__all__ = ["replace_globals"]
