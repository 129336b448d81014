"""What one element of a result is computed by: scalar expressions, equal ones being one object."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np


class LoweringUnsupported(Exception):  # noqa: N818 - a finding, not an error: the node runs by its NumPy kernel
    """What no kernel can be generated for, and why."""


class Expression:
    """A number in, a number out. `name` is a NumPy ufunc's, or one of

    "input" (`value`: which, and the axes of the iteration space that its dimensions lie along), "number", "scalar"
    (`value`: its place among the run-time numbers), "size" (`value`: axes), "index" (`value`: an axis), "cast",
    "where", "reduce" (`value`: how, and over which axes).
    """

    __slots__ = ("__weakref__", "args", "dtype", "lowers", "name", "value", "weak")

    def __init__(self, name: str, dtype: Any, args: tuple[Expression, ...], value: Any, weak: bool) -> None:
        self.name, self.dtype, self.args, self.value, self.weak = name, dtype, args, value, weak
        self.lowers = False
        """It was found to have a scalar form, with all that it is computed from."""

    def __repr__(self) -> str:
        if self.name in ("input", "number", "scalar"):
            return f"{self.name}:{self.value}"
        return f"{self.name}:{self.dtype}({', '.join(map(repr, self.args))})"


_EXACT = (int, tuple, type(None))
"""What is the same if it is equal, and of no other type here."""
_known: weakref.WeakValueDictionary[Any, Expression] = weakref.WeakValueDictionary()


def make(name: str, dtype: Any, args: tuple[Expression, ...] = (), value: Any = None, weak: bool = False) -> Expression:
    """The expression; the same object for the same arguments."""
    dtype = np.dtype(dtype)
    part = value if type(value) in _EXACT else repr(value)
    key = (name, dtype.char, tuple(map(id, args)), part, weak)
    found = _known.get(key)
    if found is None:
        found = _known[key] = Expression(name, dtype, args, value, weak)
    return found


FLOAT, WHOLE, TRUTH = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)


def number(value: Any, dtype: Any = None) -> Expression:
    """A constant: of a dtype, or a Python number that takes the dtype of what it meets."""
    if dtype is not None:
        return make("number", dtype, value=np.dtype(dtype).type(value).item())
    if isinstance(value, bool):
        return make("number", TRUTH, value=value)
    return make("number", FLOAT if isinstance(value, float) else WHOLE, value=value, weak=True)


def cast(expression: Expression, dtype: Any) -> Expression:
    """The expression as another dtype, by C's rules, as NumPy casts."""
    dtype = np.dtype(dtype)
    if expression.dtype == dtype and not expression.weak:
        return expression
    if expression.name == "number":
        with np.errstate(all="ignore"):
            return make("number", dtype, value=np.asarray(expression.value).astype(dtype).item())
    if expression.dtype == dtype:
        return make(expression.name, dtype, expression.args, expression.value)
    return make("cast", dtype, (expression,))


def walk(roots: Iterable[Expression], known: Iterable[Expression] = ()) -> Iterator[Expression]:
    """All expressions below `roots`, each once, arguments first; without those `known` and what is below them alone."""
    seen = {id(one) for one in known}
    stack = [(one, False) for one in reversed(list(roots))]
    while stack:
        one, done = stack.pop()
        if done:
            yield one
        elif id(one) not in seen:
            seen.add(id(one))
            stack.append((one, True))
            stack.extend([(argument, False) for argument in reversed(one.args) if id(argument) not in seen])


__all__ = ["FLOAT", "TRUTH", "WHOLE", "Expression", "LoweringUnsupported", "cast", "make", "number", "walk"]
