"""Evaluates the syntax tree of an operation on tensors, for shape inference. Nothing else can be called."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import engine
from studio.lowering.codegen.safe_identifiers import ENGINE
from studio.nodes.operation_nodes import OWNERS
from studio.nodes.operation_table import DTYPES


def evaluate_call(tree: ast.expr, variables: Mapping[str, Any]) -> Any:
    """The value of an expression that `operation_call` makes.

    Args:
        variables: tensors by name
    """
    match tree:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return variables[name]
        case ast.List(elts=parts):
            return [evaluate_call(part, variables) for part in parts]
        case ast.Tuple(elts=parts):
            return tuple(evaluate_call(part, variables) for part in parts)
        case ast.Attribute(value=ast.Name(id="engine"), attr=name) if name in DTYPES:
            return getattr(engine, name)
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=positional, keywords=named):
            function = getattr(_owner(owner, variables), name)
            values = [evaluate_call(each, variables) for each in positional]
            return function(*values, **{each.arg or "": evaluate_call(each.value, variables) for each in named})
        case _:
            raise TypeError(f"{ast.unparse(tree)[:100]!r} is not the call of an operation")


def _owner(tree: ast.expr, variables: Mapping[str, Any]) -> Any:
    """What a function is called on: a module of the engine, or a tensor."""
    if isinstance(tree, ast.Name) and tree.id not in variables:
        return OWNERS["ops" if tree.id == ENGINE else tree.id]
    return evaluate_call(tree, variables)


__all__ = ["evaluate_call"]
