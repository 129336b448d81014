"""Values of expressions in constructors: constants, lists of layers, and expressions that stay as they are.

Nothing is executed: the syntax tree is read, and only arithmetic and lists of bounded size are computed.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias, cast

from studio.lowering.source_import.reading.source_errors import refuse, shown

Part: TypeAlias = object
"""A constant, a list, tuple or dict of parts, or the `ast.expr` of a layer, a class or an argument."""
Scope: TypeAlias = dict[str, Part]
"""Parts by variable, and by attribute as in "self.width"."""

MOST = 1000
"""Largest number of elements in a list."""
_LARGEST = 2**63
_LARGEST_EXPONENT = 64

_ARITHMETIC: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: operator.mod,
    ast.Pow: lambda a, b: a**b,
}
_COMPARISONS: Mapping[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


def is_constant(part: Part) -> bool:
    """Whether a part has no expressions in it."""
    return next(expressions(part), None) is None


def expressions(part: Part) -> Iterator[ast.expr]:
    """The expressions in a part; those of a list that is in it twice only once."""
    waiting: list[Part] = [part]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.expr):
            yield each
        elif isinstance(each, (list, tuple, dict)) and id(cast("Part", each)) not in seen:
            seen.add(id(cast("Part", each)))
            waiting += reversed(_elements(cast("Part", each)))


def _elements(part: Part) -> list[Part]:
    """The elements of a list or tuple, or the values of a dictionary; none for other parts."""
    if isinstance(part, dict):
        return list(cast("dict[Any, Part]", part).values())
    return list(cast("Sequence[Part]", part)) if isinstance(part, (list, tuple)) else []


def bounded(node: ast.AST, part: Part) -> Any:
    """A part. Raises SourceError if it has too many elements, those of lists inside it included."""
    count, waiting = 0, [part]
    while waiting:
        inner = _elements(waiting.pop())
        count += len(inner)
        waiting += inner
        if count > MOST:
            refuse(node, f"{shown(node)} has more than {MOST:,} elements.")
    return part


def to_expression(part: Part, at: ast.AST) -> ast.expr:
    """The expression of a part, with the location of a node of the file. Raises SourceError for large parts."""
    return _written(bounded(at, part), at)


def _written(part: Part, at: ast.AST) -> ast.expr:
    if isinstance(part, ast.expr):
        return part
    made: ast.expr
    if isinstance(part, tuple):
        made = ast.Tuple([_written(each, at) for each in cast("Sequence[Any]", part)], ast.Load())
    elif isinstance(part, list):
        made = ast.List([_written(each, at) for each in cast("Sequence[Any]", part)], ast.Load())
    elif isinstance(part, dict):
        pairs = cast("dict[Any, Part]", part)
        keys: list[ast.expr | None] = [_written(key, at) for key in pairs]
        made = ast.Dict(keys, [_written(value, at) for value in pairs.values()])
    else:
        made = ast.Constant(cast("Any", part))
    return ast.copy_location(made, at)


def argument_defaults(
    function: ast.FunctionDef, skip: int, *, allow_more: bool = False
) -> tuple[list[str], dict[str, ast.expr]]:
    """The arguments of a function, and the defaults of some. Raises SourceError."""
    arguments = function.args
    if arguments.vararg or (arguments.kwarg and not allow_more) or arguments.posonlyargs:
        refuse(function, f"{function.name} takes plain arguments only. Remove * and **.")
    listed = [each.arg for each in arguments.args]
    defaults = dict(zip(listed[len(listed) - len(arguments.defaults) :], arguments.defaults, strict=True))
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        listed.append(each.arg)
        if default is not None:
            defaults[each.arg] = default
    return listed[skip:], defaults


def arithmetic(node: ast.expr, op: ast.operator, left: Part, right: Part) -> Part:
    """The result for numbers, texts and lists. Raises SourceError."""
    if type(op) not in _ARITHMETIC:
        _refuse_value(node)
    if isinstance(left, int) and isinstance(right, list):
        left, right = cast("list[Part]", right), left
    if isinstance(left, (list, tuple)):
        rows = cast("list[Part]", left)
        if isinstance(op, ast.Add) and type(right) is type(rows):
            return bounded(node, rows + cast("list[Part]", right))
        if isinstance(op, ast.Mult) and isinstance(right, int) and is_constant(rows) and len(rows) * right <= MOST:
            return bounded(node, rows * right)
        return _refuse_value(node)
    if not _is_number(left) or not _is_number(right):
        _refuse_value(node)
    if isinstance(op, ast.Pow) and not abs(cast("float", right)) <= _LARGEST_EXPONENT:
        refuse(node, f"{shown(node)} is too large.")
    try:
        value = _ARITHMETIC[type(op)](left, right)
    except ZeroDivisionError:
        refuse(node, f"{shown(node)} divides by zero.")
    except OverflowError:
        refuse(node, f"{shown(node)} is too large.")
    if isinstance(value, complex):
        _refuse_value(node)
    if not abs(value) <= _LARGEST:
        refuse(node, f"{shown(node)} is too large.")
    return value


def compared(node: ast.expr, op: ast.cmpop, left: Part, right: Part) -> bool:
    """The result of a comparison of constants."""
    try:
        return bool(_COMPARISONS[type(op)](left, right))
    except TypeError:
        return _refuse_value(node)


def selected(node: ast.expr, owner: Part, index: Part) -> Part:
    """An element of a list or dictionary."""
    try:
        return cast("Any", owner)[index]
    except (LookupError, TypeError, ValueError):
        return refuse(node, f"{shown(node)} selects nothing. Check the index or the key.")


def called(node: ast.Call, name: str, arguments: Sequence[Part]) -> Part:
    """The result of a function of Python for constants and lists, such as `range`."""
    values = cast("Sequence[Any]", arguments)
    try:
        if name == "range" and all(isinstance(each, int) and abs(each) <= _LARGEST for each in values):
            numbers = range(*values)
            return bounded(node, list(numbers[: MOST + 1]))
        if name in _ON_LISTS or (name in _ON_NUMBERS and all(map(is_constant, values))):
            return bounded(node, (_ON_LISTS.get(name) or _ON_NUMBERS[name])(*values))
    except (TypeError, ValueError, ArithmeticError):
        pass
    return _refuse_value(node)


def _is_number(part: Part) -> bool:
    return isinstance(part, (int, float)) and abs(part) <= _LARGEST


def _refuse_value(node: ast.AST) -> NoReturn:
    refuse(node, f"{shown(node)} is not a constant. Write a number, text, or a list of them.")


def _enumerated(values: Sequence[Part], start: int = 0) -> list[Part]:
    return list(enumerate(values, start))


def _zipped(*values: Sequence[Part]) -> list[Part]:
    return list(zip(*values, strict=False))


def _reversed(values: Sequence[Part]) -> Sequence[Part]:
    return values[::-1]


_ON_LISTS: Mapping[str, Callable[..., Any]] = {
    "len": len,
    "list": list,
    "tuple": tuple,
    "reversed": _reversed,
    "enumerate": _enumerated,
    "zip": _zipped,
}
_ON_NUMBERS: Mapping[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "max": max,
    "min": min,
    "sum": sum,
    "round": round,
    "abs": abs,
    "math.sqrt": math.sqrt,
    "math.log": math.log,
    "math.log2": math.log2,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.prod": math.prod,
}
FUNCTIONS = frozenset({"range", *_ON_LISTS, *_ON_NUMBERS})
"""Functions of Python that `called` knows."""

__all__ = [
    "FUNCTIONS",
    "MOST",
    "Part",
    "Scope",
    "argument_defaults",
    "arithmetic",
    "bounded",
    "called",
    "compared",
    "expressions",
    "is_constant",
    "selected",
    "to_expression",
]
