"""Scalar expressions for one element of a result. Equal expressions are one object."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np


class LoweringUnsupported(Exception):  # noqa: N818 - not an error: NumPy computes the node instead
    """The reason why no kernel can compute an op."""


class Expression:
    """A scalar expression. `name` is that of a NumPy ufunc, or one of

    "input" (`value`: index, and the axes of the iteration space of its dimensions), "number", "scalar" (`value`: index
    among the run-time numbers), "size" (`value`: axes), "index" (`value`: an axis), "cast", "where",
    "reduce" (`value`: function and axes).
    """

    __slots__ = ("__weakref__", "args", "dtype", "is_lowerable", "name", "value", "weak")

    def __init__(self, name: str, dtype: Any, args: tuple[Expression, ...], value: Any, weak: bool) -> None:
        self.name, self.dtype, self.args, self.value, self.weak = name, dtype, args, value, weak
        self.is_lowerable = False
        """Whether it and its arguments can be lowered, if that was checked."""

    def __repr__(self) -> str:
        if self.name in ("input", "number", "scalar"):
            return f"{self.name}:{self.value}"
        return f"{self.name}:{self.dtype}({', '.join(map(repr, self.args))})"


_EXACT = (int, tuple, type(None))
"""Types whose equal values are interchangeable."""
_expressions: weakref.WeakValueDictionary[Any, Expression] = weakref.WeakValueDictionary()


def make(name: str, dtype: Any, args: tuple[Expression, ...] = (), value: Any = None, weak: bool = False) -> Expression:
    """The expression with these arguments; always the same object."""
    dtype = np.dtype(dtype)
    part = value if type(value) in _EXACT else repr(value)
    key = (name, dtype.char, tuple(map(id, args)), part, weak)
    found = _expressions.get(key)
    if found is None:
        found = _expressions[key] = Expression(name, dtype, args, value, weak)
    return found


FLOAT64, INT64, BOOL = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)


def number(value: Any, dtype: Any = None) -> Expression:
    """A constant of a dtype, or a Python number with a weak dtype."""
    if dtype is not None:
        return make("number", dtype, value=np.dtype(dtype).type(value).item())
    if isinstance(value, bool):
        return make("number", BOOL, value=value)
    return make("number", FLOAT64 if isinstance(value, float) else INT64, value=value, weak=True)


def cast(expression: Expression, dtype: Any) -> Expression:
    """The expression converted to another dtype, as NumPy casts."""
    dtype = np.dtype(dtype)
    if expression.dtype == dtype and not expression.weak:
        return expression
    if expression.name == "number":
        with np.errstate(all="ignore"):
            return make("number", dtype, value=np.asarray(expression.value).astype(dtype).item())
    if expression.dtype == dtype:
        return make(expression.name, dtype, expression.args, expression.value)
    return make("cast", dtype, (expression,))


def walk(roots: Iterable[Expression], excluded: Iterable[Expression] = ()) -> Iterator[Expression]:
    """All expressions below `roots` once, arguments first, without `known` ones."""
    visited = {id(one) for one in excluded}
    stack = [(one, False) for one in reversed(list(roots))]
    while stack:
        one, done = stack.pop()
        if done:
            yield one
        elif id(one) not in visited:
            visited.add(id(one))
            stack.append((one, True))
            stack.extend([(argument, False) for argument in reversed(one.args) if id(argument) not in visited])


__all__ = ["FLOAT64", "BOOL", "INT64", "Expression", "LoweringUnsupported", "cast", "make", "number", "walk"]
