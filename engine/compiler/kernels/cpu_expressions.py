"""Scalar expressions as numba source. Dtypes are kept, where numba alone would widen them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler.kernels.scalar_expression import BOOL, FLOAT64, Expression, LoweringUnsupported

CHEAP_COST, EXPENSIVE_COST = 1, 12
"""Cost of an expression in additions."""

NAMES = {"?": "boolean", "f": "float32", "d": "float64", "b": "int8", "h": "int16", "i": "int32", "l": "int64",
         "q": "int64", "B": "uint8", "H": "uint16", "I": "uint32", "L": "uint64", "Q": "uint64"}  # fmt: skip
"""numba's names of dtypes."""

_OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_COMPARISONS = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">",
                "greater_equal": ">="}  # fmt: skip
ROUNDINGS = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint"}
_FUNCTIONS_BY_DTYPE = {"exp": "exp{}", "exp2": "exp2_{}", "expm1": "expm1_{}", "tanh": "tanh{}", "log": "log{}",
        "log2": "log2_{}", "log10": "log10_{}", "log1p": "log1p{}", "logaddexp": "logaddexp{}"}  # fmt: skip
"""Functions of this package per dtype, with a placeholder for the bits."""
_SHARED = {"maximum", "minimum", "fmax", "fmin"}
"""Functions of this package for all dtypes."""
_OF_FLOATS = {"remainder", "floor_divide", "fmod"}
"""Functions of this package for floats; integer division by 0 must raise instead."""
LIBRARY = {"sin", "cos", "tan", "sinh", "cosh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
            "arctan2"}  # fmt: skip
"""C library functions, computed per element in double precision."""
SIMPLE_POWERS = {2.0: "square", 1.0: "positive", 0.5: "sqrt"}
"""Powers with a simpler form, by exponent."""


class ImportedNames:
    """The names that a generated module imports."""

    def __init__(self) -> None:
        self.functions: set[str] = set()
        self.types: set[str] = set()
        self.mathematics: set[str] = set()

    def function(self, name: str) -> str:
        self.functions.add(name)
        return name

    def type(self, dtype: Any) -> str:
        name = NAMES[np.dtype(dtype).char]
        self.types.add(name)
        return name

    def math(self, name: str) -> str:
        self.mathematics.add(name)
        return name


def literal(value: Any, dtype: Any, names: ImportedNames) -> str:
    """A literal."""
    dtype = np.dtype(dtype)
    if dtype == BOOL:
        return repr(bool(value))
    if dtype.kind != "f":
        return f"{names.type(dtype)}({int(value)})"
    if math.isnan(value) or math.isinf(value):
        text = names.math("nan") if math.isnan(value) else ("-" if value < 0 else "") + names.math("inf")
    else:
        text = repr(float(value)) if dtype == np.float64 else repr(float(str(np.float32(value))))
    return text if dtype == np.float64 else f"{names.type(dtype)}({text})"


def expression_text(one: Expression, args: Sequence[str], names: ImportedNames) -> str:
    """The source of an expression with these arguments. Raises LoweringUnsupported."""
    kind = one.args[0].dtype.kind if one.args else one.dtype.kind
    if one.name in _OPERATORS:
        return _arithmetic(one, args, names)
    if one.name in _COMPARISONS:
        return f"({args[0]} {_COMPARISONS[one.name]} {args[1]})"
    special = _SPECIAL.get(one.name)
    if special is not None:
        return special(one, args, names)
    if one.name in ROUNDINGS:
        return args[0] if kind in "iub" else f"{names.function(one.name)}({args[0]})"
    function = package_function(one)
    if function is not None:
        return _narrowed(one, f"{names.function(function)}({', '.join(args)})", names)
    if one.name in LIBRARY and kind == "f":
        wide = ", ".join(f"{names.type(FLOAT64)}({arg})" for arg in args)
        return f"{names.type(one.dtype)}({names.math(_of_library(one.name))}({wide}))"
    raise LoweringUnsupported(f"numpy.{one.name} is not supported in kernels")


def package_function(one: Expression) -> str | None:
    """The function of this package that computes an expression, if any."""
    kind = one.args[0].dtype.kind if one.args else one.dtype.kind
    if (one.name in _FUNCTIONS_BY_DTYPE or one.name == "power") and kind == "f":
        return _FUNCTIONS_BY_DTYPE.get(one.name, "power{}").format(one.dtype.itemsize * 8)
    return one.name if one.name in _SHARED or (one.name in _OF_FLOATS and kind == "f") else None


def _of_library(name: str) -> str:
    return name.replace("arc", "a")


def _narrowed(one: Expression, found: str, names: ImportedNames) -> str:
    """Converts small integers back, since numba computes them in 64 bits."""
    return f"{names.type(one.dtype)}({found})" if one.dtype.kind in "iu" and one.dtype.itemsize < 8 else found


def _arithmetic(one: Expression, args: Sequence[str], names: ImportedNames) -> str:
    sign = _OPERATORS[one.name]
    if one.dtype == BOOL:
        sign = {"+": "|", "*": "&"}.get(sign, sign)
    return _narrowed(one, f"({args[0]} {sign} {args[1]})", names)


def _cast(one: Expression, args: Sequence[str], names: ImportedNames) -> str:
    source = one.args[0].dtype
    if one.dtype == BOOL:
        return f"({args[0]} != {literal(0, source, names)})"
    return f"{names.type(one.dtype)}({args[0]})"


def _negative(one: Expression, args: Sequence[str], names: ImportedNames) -> str:
    return _narrowed(one, f"(-{args[0]})", names)


def _absolute(one: Expression, args: Sequence[str], names: ImportedNames) -> str:
    if one.dtype.kind == "f":
        return f"{names.function('fabs')}({args[0]})"
    if one.dtype.kind in "ub":
        return args[0]
    return _narrowed(one, f"abs({args[0]})", names)


def _logical(sign: str) -> Callable[..., str]:
    def made(one: Expression, args: Sequence[str], names: ImportedNames) -> str:
        parts = [
            text if arg.dtype == BOOL else f"({text} != {literal(0, arg.dtype, names)})"
            for text, arg in zip(args, one.args, strict=True)
        ]
        return f"({parts[0]} {sign} {parts[1]})"

    return made


def _not(one: Expression, args: Sequence[str], names: ImportedNames) -> str:
    source = one.args[0].dtype
    return f"({args[0]} == {literal(0, source, names)})" if source != BOOL else f"({args[0]} == False)"


def _invert(one: Expression, args: Sequence[str], names: ImportedNames) -> str:
    return _not(one, args, names) if one.dtype == BOOL else _narrowed(one, f"(~{args[0]})", names)


def _of_float(template: str) -> Callable[..., str]:
    """A test of floats with a constant result for integers."""

    def made(one: Expression, args: Sequence[str], names: ImportedNames) -> str:
        if one.args[0].dtype.kind != "f":
            return repr(one.name == "isfinite")
        size = literal(math.inf, one.args[0].dtype, names)
        return template.format(x=args[0], size=f"{names.function('fabs')}({args[0]})", inf=size)

    return made


def _signbit(one: Expression, args: Sequence[str], names: ImportedNames) -> str:
    return f"({names.function('bits')}({args[0]}) < 0)"


def _power(one: Expression, args: Sequence[str], names: ImportedNames) -> str:
    exponent = one.args[1]
    if one.dtype.kind != "f":
        raise LoweringUnsupported("integer powers are not supported in kernels")
    simple = SIMPLE_POWERS.get(exponent.value) if exponent.name == "number" else None
    if simple is not None:
        return _SPECIAL[simple](one, args, names)
    return f"{names.function(package_function(one) or 'power')}({args[0]}, {args[1]})"


_SPECIAL: dict[str, Callable[..., str]] = {
    "cast": _cast,
    "where": lambda one, args, names: f"({args[1]} if {args[0]} else {args[2]})",
    "true_divide": lambda one, args, names: f"({args[0]} / {args[1]})",
    "divide": lambda one, args, names: f"({args[0]} / {args[1]})",
    "negative": _negative,
    "positive": lambda one, args, names: args[0],
    "absolute": _absolute,
    "fabs": _absolute,
    "square": lambda one, args, names: _narrowed(one, f"({args[0]} * {args[0]})", names),
    "reciprocal": lambda one, args, names: f"({literal(1, one.dtype, names)} / {args[0]})",
    "sqrt": lambda one, args, names: f"{names.function('sqrt')}({args[0]})",
    "copysign": lambda one, args, names: f"{names.function('copysign')}({args[0]}, {args[1]})",
    "logical_and": _logical("&"),
    "logical_or": _logical("|"),
    "logical_xor": _logical("^"),
    "logical_not": _not,
    "invert": lambda one, args, names: (
        _not(one, args, names) if one.dtype == BOOL else _narrowed(one, f"(~{args[0]})", names)
    ),
    "isnan": _of_float("({x} != {x})"),
    "isfinite": _of_float("({size} < {inf})"),
    "isinf": _of_float("({size} == {inf})"),
    "signbit": _signbit,
    "power": _power,
}
_DOUBLED = {"square", "isnan", "power"}
"""Expressions whose source contains an argument twice."""


def cost(one: Expression) -> int:
    """The cost of an expression in additions, without its arguments."""
    if one.name in ("input", "number", "scalar", "size", "index", "cast"):
        return 0
    if one.name in _FUNCTIONS_BY_DTYPE or one.name in LIBRARY or one.name in _OF_FLOATS or one.name == "power":
        return EXPENSIVE_COST
    return 4 if one.name in ("true_divide", "divide", "sqrt", "floor_divide", "reciprocal") else CHEAP_COST


def repeats_argument(one: Expression) -> bool:
    """Whether the source contains an argument twice, so that the argument should have a name."""
    return one.name in _DOUBLED or one.name in ("where", "isfinite", "isinf")


__all__ = [
    "LIBRARY",
    "ROUNDINGS",
    "SIMPLE_POWERS",
    "ImportedNames",
    "cost",
    "expression_text",
    "literal",
    "package_function",
    "repeats_argument",
]
