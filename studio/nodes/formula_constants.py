"""Parts of formulas without inputs, which Python computes when the program runs."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any, NoReturn

from engine.registry.parameter import GREATEST

CONSTANTS = {"pi": math.pi}
"""Names that are numbers."""

ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
"""Operators of two numbers."""

MAX_QUOTED = 40
"""Characters of a formula that a message quotes."""


def constant_value(tree: ast.expr) -> int | float:
    """The value of an expression without inputs.

    Raises ValueError for values that are not finite or above `GREATEST`, and for operators of tensors.
    """
    match tree:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            return CONSTANTS[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -constant_value(operand)
        case ast.BinOp(left=left, op=kind, right=right) if type(kind) in ARITHMETIC:
            return _result(tree, constant_value(left), constant_value(right))
        case _:
            return reject(tree, f"{ast.unparse(tree)[:MAX_QUOTED]} must contain an input")


def _result(tree: ast.BinOp, left: float, right: float) -> int | float:
    is_huge = isinstance(tree.op, ast.Pow) and _power_is_huge(left, right)
    try:
        value = math.inf if is_huge else ARITHMETIC[type(tree.op)](left, right)
    except ZeroDivisionError:
        reject(tree, f"{ast.unparse(tree)[:MAX_QUOTED]} divides by 0")
    if isinstance(value, complex) or not abs(value) <= GREATEST:
        reject(tree, f"{ast.unparse(tree)[:MAX_QUOTED]} is not a number between -1e30 and 1e30")
    return value


def _power_is_huge(base: float, exponent: float) -> bool:
    """Whether a power exceeds `GREATEST`, so that Python should not compute its digits."""
    return abs(base) > 1 and exponent * math.log10(abs(base)) > math.log10(GREATEST) + 1


def reject(tree: ast.expr, reason: str) -> NoReturn:
    """Raise the error of a formula, with its column."""
    raise ValueError(f"must be a formula; column {tree.col_offset + 1}: {reason}")


__all__ = ["CONSTANTS", "MAX_QUOTED", "constant_value", "reject"]
