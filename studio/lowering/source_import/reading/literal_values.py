"""Values of expressions that consist of constants and constructor arguments. Nothing is executed."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from studio.lowering.source_import.reading.module_source import Argument, Value
from studio.lowering.source_import.reading.source_errors import refuse, shown

_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Div: lambda a, b: a / b,
}
_MAX_NUMBER = 2**63
"""Largest result of arithmetic."""


def literal_value(node: ast.expr, names: Mapping[str, Value]) -> Value:
    """The value of an expression. `names` has the values of variables; others are refused."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            if isinstance(value, float) and not math.isfinite(value):
                refuse(node, f"{shown(node)} is not a finite number. Write a smaller one.")
            return value
        case ast.Tuple(elts=parts):
            return tuple(literal_value(part, names) for part in parts)
        case ast.List(elts=parts):
            return [literal_value(part, names) for part in parts]
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(node, literal_value(operand, names))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _computed(node, type(op), literal_value(left, names), literal_value(right, names))
        case _:
            return refuse(node, f"{shown(node)} is not a constant. Write a number, text, or a tuple of numbers.")


def _computed(node: ast.expr, kind: type[ast.operator], left: Value, right: Value) -> Value:
    first, second = _number(node, left), _number(node, right)
    if kind in (ast.FloorDiv, ast.Div) and second == 0:
        refuse(node, f"{shown(node)} divides by zero.")
    value = _OPERATORS[kind](first, second)
    if not abs(value) <= _MAX_NUMBER:  # also false for NaN
        refuse(node, f"{shown(node)} is too large.")
    return value


def _number(node: ast.expr, value: Value) -> Any:
    if isinstance(value, Argument):
        refuse(
            node,
            f"{shown(node)} is computed from the argument {value.name}, which a block cannot do. "
            "Pass the result as an argument.",
        )
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > _MAX_NUMBER:
        refuse(node, f"{shown(node)} is not a constant number.")
    return value


__all__ = ["literal_value"]
