"""Formulas such as "a * x + sin(y)": parsed into a syntax tree of a small subset of Python, never evaluated."""

from __future__ import annotations

import ast
import difflib
import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from engine.system.syntax import parse_source

MAX_LENGTH = 400
MAX_NODES = 200
MAX_DEPTH = 30
MAX_INPUTS = 16
CONSTANTS = {"pi": math.pi}
"""Names that are numbers."""

OPERATORS = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult),
    *(ast.BitAnd, ast.BitOr, ast.BitXor),
)
COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
SIGNS = (ast.USub, ast.Invert)

FUNCTIONS = frozenset(
    {
        *("abs", "sign", "sqrt", "rsqrt", "square", "pow", "reciprocal", "maximum", "minimum", "clamp", "where"),
        *("exp", "expm1", "log", "log1p", "log2", "log10", "logit", "sigmoid", "tanh", "relu", "softplus", "erf"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh", "hypot"),
        *("floor", "ceil", "round", "trunc", "frac", "logaddexp", "sinc"),
        *("sum", "mean", "prod", "amax", "amin", "var", "std", "logsumexp", "softmax", "log_softmax", "cumsum"),
        *("matmul", "transpose", "detach"),
    }
)
"""Functions of the engine that a formula may call."""

ALLOWED = "numbers, inputs, + - * / // % ** @, comparisons, & | ^ ~, and functions such as sin(x) or mean(x, dim=1)"


@dataclass(frozen=True, slots=True)
class Formula:
    tree: ast.expr
    """Names are inputs or, where they are called, functions."""
    inputs: tuple[str, ...]
    """In order of their first use."""


def formula_problem(text: str) -> str | None:
    """Why a text is no formula, as the end of a sentence; None if it is one."""
    try:
        parse_formula(text)
    except ValueError as error:
        return str(error)
    return None


@functools.lru_cache(maxsize=1024)
def parse_formula(text: str) -> Formula:
    """Parse a formula. Raises ValueError with the column and what is allowed there."""
    if len(text) > MAX_LENGTH:
        raise ValueError(f"must have at most {MAX_LENGTH} characters, not {len(text)}")
    if not text.strip() or "\n" in text:
        raise ValueError(f"must be one line of {ALLOWED}")
    try:
        tree = _expression(text.strip())
    except SyntaxError as error:
        reason = error.msg.removeprefix("invalid syntax. ").rstrip(".")
        raise ValueError(f"must be a formula; column {error.offset or 1}: {reason}") from None
    except (ValueError, RecursionError, MemoryError):
        raise ValueError(f"must be a formula of {ALLOWED}") from None
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES * 2:
        raise ValueError(f"must have at most {MAX_NODES} terms. Use several formulas")
    names = [name for name in _inputs(tree, 0) if name.id not in CONSTANTS]
    inputs = tuple(dict.fromkeys(name.id for name in sorted(names, key=lambda name: name.col_offset)))
    if not inputs:
        raise ValueError("must use at least one input, such as x")
    if len(inputs) > MAX_INPUTS:
        raise ValueError(f"must use at most {MAX_INPUTS} inputs, not {len(inputs)}")
    return Formula(tree, inputs)


def _expression(text: str) -> ast.expr:
    match parse_source(text).body:
        case [ast.Expr(value=tree)]:
            return tree
        case _:
            raise ValueError("it is not one expression")


def _inputs(tree: ast.expr, depth: int) -> Iterator[ast.Name]:
    """The inputs of an expression. Raises ValueError for what is not allowed."""
    if depth > MAX_DEPTH:
        raise ValueError(f"must have at most {MAX_DEPTH} levels of parentheses. Use several formulas")
    match tree:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            if not math.isfinite(value) or abs(value) > 1e30:
                _reject(tree, "a number must be between -1e30 and 1e30")
        case ast.Name(id=name):
            if name in FUNCTIONS:
                _reject(tree, f"{name} is a function; write {name}(x)")
            if not name.isascii() or name.startswith("_"):
                _reject(tree, f"{name!r} must begin with a letter and use only a-z, 0-9 and _")
            yield tree
        case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, OPERATORS):
            found = [*_inputs(left, depth + 1)]
            if isinstance(operator, ast.Pow) and not found:
                _reject(tree, "the base of ** must contain an input")
            yield from found
            yield from _inputs(right, depth + 1)
        case ast.UnaryOp(op=operator, operand=operand) if isinstance(operator, SIGNS):
            yield from _inputs(operand, depth + 1)
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if isinstance(operator, COMPARISONS):
            yield from _inputs(left, depth + 1)
            yield from _inputs(right, depth + 1)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            yield from _call(tree, name, arguments, keywords, depth)
        case _:
            _reject(tree, f"use {ALLOWED}, not {ast.unparse(tree)[:40]!r}")


def _call(
    call: ast.Call, name: str, arguments: list[ast.expr], keywords: list[ast.keyword], depth: int
) -> Iterator[ast.Name]:
    if name not in FUNCTIONS:
        near = difflib.get_close_matches(name, sorted(FUNCTIONS), n=1)
        hint = f"did you mean {near[0]}?" if near else "functions are sin, exp, mean, where and others, listed under F1"
        _reject(call, f"{name!r} is not a function here; {hint}")
    if not arguments:
        _reject(call, f"{name} needs an input, such as {name}(x)")
    for argument in arguments:
        yield from _inputs(argument, depth + 1)
    for keyword in keywords:
        if keyword.arg is None or not _is_setting(keyword.value):
            _reject(keyword.value, f"the arguments of {name} are numbers, True or False, such as dim=-1")


def _is_setting(tree: ast.expr) -> bool:
    match tree:
        case ast.Constant(value=bool() | int() | float()):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return True
        case ast.Tuple(elts=parts):
            return all(map(_is_setting, parts))
        case _:
            return False


def _reject(tree: ast.expr, reason: str) -> NoReturn:
    raise ValueError(f"must be a formula; column {tree.col_offset + 1}: {reason}")


__all__ = ["CONSTANTS", "FUNCTIONS", "Formula", "formula_problem", "parse_formula"]
