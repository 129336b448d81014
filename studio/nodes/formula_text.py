"""Formulas such as "a * x + sin(y)": parsed into a syntax tree of a small subset of Python, never evaluated."""

from __future__ import annotations

import ast
import difflib
import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from engine.registry.parameter import GREATEST
from engine.system.syntax import parse_source
from studio.nodes.formula_constants import CONSTANTS, MAX_QUOTED, constant_value, reject
from studio.nodes.formula_functions import FUNCTIONS, FormulaFunction, formula_function

MAX_LENGTH = 400
MAX_NODES = 200
MAX_DEPTH = 30
MAX_INPUTS = 16
OPERATORS = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult),
    *(ast.BitAnd, ast.BitOr, ast.BitXor),
)
DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)

COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
SIGNS = (ast.USub, ast.Invert)

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
    names = sorted(_inputs(tree, 0), key=lambda name: name.col_offset)
    inputs = tuple(dict.fromkeys(name.id for name in names))
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
            if not abs(value) <= GREATEST:
                reject(tree, "a number must be between -1e30 and 1e30")
        case ast.Name(id=name) if name in CONSTANTS:
            pass
        case ast.Name(id=name):
            if name in FUNCTIONS:
                reject(tree, f"{name} is a function; write {name}(x)")
            if not name.isascii() or name.startswith("_"):
                reject(tree, f"{name!r} must begin with a letter and use only a-z, 0-9 and _")
            yield tree
        case ast.BinOp(op=kind) if isinstance(kind, OPERATORS):
            yield from _operands(tree, depth)
        case ast.UnaryOp(op=kind, operand=operand) if isinstance(kind, SIGNS):
            found = [*_inputs(operand, depth + 1)]
            if not found:
                constant_value(tree)
            yield from found
        case ast.Compare(left=left, ops=[kind], comparators=[right]) if isinstance(kind, COMPARISONS):
            found = [*_inputs(left, depth + 1), *_inputs(right, depth + 1)]
            if not found:
                reject(tree, "a comparison must contain an input")
            yield from found
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            yield from _call(tree, name, arguments, keywords, depth)
        case _:
            reject(tree, f"use {ALLOWED}, not {ast.unparse(tree)[:MAX_QUOTED]!r}")


def _operands(tree: ast.BinOp, depth: int) -> Iterator[ast.Name]:
    """The inputs of both operands. At least one of them contains an input."""
    left, right = [*_inputs(tree.left, depth + 1)], [*_inputs(tree.right, depth + 1)]
    if not left and not right:
        constant_value(tree)
    elif isinstance(tree.op, DIVISIONS) and not right and constant_value(tree.right) == 0:
        reject(tree, f"{ast.unparse(tree)[:MAX_QUOTED]} divides by 0")
    elif isinstance(tree.op, ast.MatMult) and not (left and right):
        reject(tree, "both sides of @ must contain an input")
    yield from left
    yield from right


def _call(
    call: ast.Call, name: str, arguments: list[ast.expr], keywords: list[ast.keyword], depth: int
) -> Iterator[ast.Name]:
    if name not in FUNCTIONS:
        near = difflib.get_close_matches(name, sorted(FUNCTIONS), n=1)
        hint = f"did you mean {near[0]}?" if near else "functions are sin, exp, mean, where and others, listed under F1"
        reject(call, f"{name!r} is not a function here; {hint}")
    signature = formula_function(name)
    given = _bound(call, signature, arguments, keywords)
    found = {argument: [*_argument(signature, argument, tree, depth)] for argument, tree in given.items()}
    without = [argument for argument, names in found.items() if argument in signature.tensors and not names]
    wrong = [argument for argument in without if not (signature.is_elementwise or argument in signature.settings)]
    if wrong or not any(found.values()):
        reject(call, f"{name} needs an input{f' as {wrong[0]}' if len(found) > 1 and wrong else ''}, such as {name}(x)")
    yield from itertools.chain(*found.values())


def _bound(
    call: ast.Call, signature: FormulaFunction, arguments: list[ast.expr], keywords: list[ast.keyword]
) -> dict[str, ast.expr]:
    """The arguments of a call by name."""
    name = signature.name
    if len(arguments) > len(signature.positional):
        reject(call, f"{name} takes {', '.join(signature.positional)}, not {len(arguments)} arguments")
    given = dict(zip(signature.positional, arguments, strict=False))
    for keyword in keywords:
        argument = "" if keyword.arg is None else signature.aliases.get(keyword.arg, keyword.arg)
        if argument not in signature.settings:
            known = ", ".join(signature.settings)
            allowed = f"its settings are {known}" if known else "it has no settings"
            reject(keyword.value, f"{name} has no setting {keyword.arg or '**'}; {allowed}")
        if argument in given:
            reject(keyword.value, f"{argument} of {name} is set twice")
        given[argument] = keyword.value
    missing = next((argument for argument in signature.required if argument not in given), None)
    if missing is not None:
        is_setting = missing in signature.settings and missing not in signature.tensors
        example = f"x, {missing}=-1" if is_setting else ", ".join(signature.required)
        reject(call, f"{name} needs {missing}, as in {name}({example})")
    return given


def _argument(signature: FormulaFunction, argument: str, tree: ast.expr, depth: int) -> Iterator[ast.Name]:
    """The inputs of an argument, which is an expression, or a number that the function allows."""
    parameter = signature.settings.get(argument)
    if parameter is None or (argument in signature.tensors and not _is_setting(tree)):
        yield from _inputs(tree, depth + 1)
        return
    if not _is_setting(tree):
        reject(tree, f"{argument} of {signature.name} must be a number, True or False, such as {argument}=1")
    problem = parameter.problem(ast.literal_eval(tree))
    if problem is not None:
        reject(tree, f"{argument} of {signature.name} {problem}")


def _is_setting(tree: ast.expr) -> bool:
    match tree:
        case ast.Constant(value=bool() | int() | float()):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return not isinstance(value, bool)
        case ast.Tuple(elts=parts):
            return all(map(_is_setting, parts))
        case _:
            return False


__all__ = ["Formula", "formula_problem", "parse_formula"]
