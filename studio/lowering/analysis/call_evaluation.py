"""Evaluates the syntax tree of an operation on tensors, for shape inference. Nothing else can be called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import engine
from studio.lowering.codegen.safe_identifiers import ENGINE
from studio.nodes.operation_nodes import OWNERS
from studio.nodes.operation_table import DTYPES

BINARY: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a**b,
    ast.MatMult: lambda a, b: a @ b,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}
UNARY: Mapping[type[ast.AST], Callable[[Any], Any]] = {ast.USub: lambda a: -a, ast.Invert: lambda a: ~a}


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
        case ast.BinOp(left=left, op=op, right=right):
            return BINARY[type(op)](evaluate_call(left, variables), evaluate_call(right, variables))
        case ast.UnaryOp(op=op, operand=operand):
            return UNARY[type(op)](evaluate_call(operand, variables))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return BINARY[type(op)](evaluate_call(left, variables), evaluate_call(right, variables))
        case ast.Subscript(value=ast.Attribute(value=tensor, attr="shape"), slice=ast.Constant(value=0)):
            return evaluate_call(tensor, variables).shape[0]
        case ast.Subscript(value=tensor, slice=index):
            return evaluate_call(tensor, variables)[_index(index)]
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=positional, keywords=named):
            function = getattr(_owner(owner, variables), name)
            values = [evaluate_call(each, variables) for each in positional]
            return function(*values, **{each.arg or "": evaluate_call(each.value, variables) for each in named})
        case _:
            raise TypeError(f"{ast.unparse(tree)[:100]!r} is not the call of an operation")


def _index(tree: ast.expr) -> Any:
    match tree:
        case ast.Tuple(elts=parts):
            return tuple(_index(part) for part in parts)
        case ast.Slice(lower=lower, upper=upper, step=step):
            return slice(*(None if each is None else _index(each) for each in (lower, upper, step)))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
        case ast.Constant(value=value):
            return value
        case _:
            raise TypeError(f"{ast.unparse(tree)[:100]!r} is not an index")


def _owner(tree: ast.expr, variables: Mapping[str, Any]) -> Any:
    """What a function is called on: a module of the engine, or a tensor."""
    if isinstance(tree, ast.Name) and tree.id not in variables:
        return OWNERS["ops" if tree.id == ENGINE else tree.id]
    return evaluate_call(tree, variables)


__all__ = ["evaluate_call"]
