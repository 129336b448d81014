"""Scalar expressions as CUDA C++. Each operation is rounded to its dtype; integers wrap around."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler.kernels.cuda import translate_functions
from engine.compiler.kernels.scalar_expression import BOOL, Expression, LoweringUnsupported
from engine.dtypes import bfloat16

HALF_DTYPES = {np.dtype(np.float16): "half", bfloat16.numpy: "bfloat"}
"""Dtypes that are stored in two bytes and computed in float32, with each result rounded."""

_TYPES = {"b1": "bool", "i1": "signed char", "i2": "short", "i4": "int", "i8": "long long", "u1": "unsigned char",
          "u2": "unsigned short", "u4": "unsigned int", "u8": "unsigned long long", "f4": "float",
          "f8": "double"}  # fmt: skip
_OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_COMPARISONS = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">",
                "greater_equal": ">="}  # fmt: skip
_ROUNDINGS = ("floor", "ceil", "trunc", "rint")
_FUNCTIONS_BY_DTYPE = {"exp": "exp{}", "exp2": "exp2_{}", "expm1": "expm1_{}", "tanh": "tanh{}", "log": "log{}",
        "log2": "log2_{}", "log10": "log10_{}", "log1p": "log1p{}", "logaddexp": "logaddexp{}"}  # fmt: skip
_SHARED = ("maximum", "minimum", "fmax", "fmin")
_OF_FLOATS = ("remainder", "floor_divide", "fmod")
_LIBRARY = {name.replace("a", "arc", 1) if name.startswith("a") else name: name
            for name in (*translate_functions.LIBRARY_OF_ONE, *translate_functions.LIBRARY_OF_TWO)}  # fmt: skip
_TWICE = frozenset({"square", "isnan", "isinf", "power", "where", "isfinite"})


def is_float(dtype: Any) -> bool:
    """Whether it is a floating-point dtype; NumPy's `kind` does not cover bfloat16."""
    return dtype.kind == "f" or dtype in HALF_DTYPES


def storage_type(dtype: Any) -> str:
    """The C++ type of an element in memory."""
    return "unsigned short" if dtype in HALF_DTYPES else _TYPES[f"{dtype.kind}{dtype.itemsize}"]


def register_type(dtype: Any) -> str:
    """The C++ type of a number in a register."""
    return "float" if dtype in HALF_DTYPES else storage_type(dtype)


class CudaExpressionWriter:
    """Writes expressions, and collects the functions that they call."""

    def __init__(self) -> None:
        self.functions: set[str] = set()

    def function(self, name: str) -> str:
        self.functions.add(name)
        return name

    # -- memory

    def loaded(self, dtype: Any, element: str) -> str:
        return f"from_{self.function(HALF_DTYPES[dtype])}({element})" if dtype in HALF_DTYPES else element

    def stored(self, dtype: Any, value: str) -> str:
        return f"to_{self.function(HALF_DTYPES[dtype])}({value})" if dtype in HALF_DTYPES else value

    # -- numbers

    def literal(self, value: Any, dtype: Any) -> str:
        if dtype == BOOL:
            return "true" if value else "false"
        if is_float(dtype):
            return translate_functions.literal(float(value), 8 if dtype.itemsize == 8 else 4)
        if dtype.itemsize == 8 and int(value) == -(2**63):
            return "(-9223372036854775807LL - 1)"
        suffix = {"i8": "LL", "u8": "ULL", "u4": "u"}.get(f"{dtype.kind}{dtype.itemsize}", "")
        if dtype.kind == "i" and int(value) == -(2**31):
            return "(-2147483647 - 1)"
        text = f"{int(value)}{suffix}"
        return f"({text})" if value < 0 else text

    def rounded(self, dtype: Any, text: str) -> str:
        """Rounds a result that was computed in a wider type."""
        if dtype in HALF_DTYPES:
            return self.loaded(dtype, self.stored(dtype, text))
        return f"({storage_type(dtype)}){text}" if dtype.kind in "iu" and dtype.itemsize < 4 else text

    def of(self, one: Expression, args: Sequence[str]) -> str:
        """The source of an expression with these arguments. Raises LoweringUnsupported."""
        dtype = one.args[0].dtype if one.args else one.dtype
        name = one.name
        if name in _OPERATORS:
            return self._arithmetic(one, args)
        if name in _COMPARISONS:
            return f"({args[0]} {_COMPARISONS[name]} {args[1]})"
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, one, args)
        if name in _ROUNDINGS:
            return f"{self.function(name)}({args[0]})" if is_float(dtype) else args[0]
        arguments = ", ".join(args)
        if name in _FUNCTIONS_BY_DTYPE and is_float(dtype):
            bits = 64 if one.dtype.itemsize == 8 else 32
            return self.rounded(one.dtype, f"{self.function(_FUNCTIONS_BY_DTYPE[name].format(bits))}({arguments})")
        if name in _SHARED:
            return f"{self.function(name)}({arguments})"
        if name in _OF_FLOATS and is_float(dtype):
            return self.rounded(one.dtype, f"{self.function(name)}({arguments})")
        if name in _LIBRARY and is_float(dtype):
            return self.rounded(one.dtype, f"{self.function(_LIBRARY[name])}({arguments})")
        raise LoweringUnsupported(f"numpy.{name} is not supported in kernels")

    def combined(self, how: str, dtype: Any, a: str, b: str) -> str:
        """The combination of two numbers of a reduction. Half-precision numbers are added in float32."""
        signs = {"add": "+", "multiply": "*", "logical_or": "|", "logical_and": "&"}
        if how in signs:
            if dtype.kind in "iu":
                return _wrapped(dtype, a, signs[how], b)
            return f"(bool)({a} {signs[how]} {b})" if dtype == BOOL else f"{a} {signs[how]} {b}"
        return f"{self.function('larger' if how == 'maximum' else 'smaller')}({a}, {b})"

    def identity(self, how: str, dtype: Any) -> str:
        """The initial value of a reduction."""
        if how in ("add", "multiply"):
            return self.literal(how == "multiply", dtype)
        if how in ("logical_or", "logical_and"):
            return self.literal(how == "logical_and", BOOL)
        lowest = how == "maximum"
        if dtype == BOOL:
            return self.literal(not lowest, BOOL)
        if is_float(dtype):
            return self.literal(-math.inf if lowest else math.inf, dtype)
        limits = np.iinfo(dtype)
        return self.literal(limits.min if lowest else limits.max, dtype)

    def _arithmetic(self, one: Expression, args: Sequence[str]) -> str:
        sign = _OPERATORS[one.name]
        if one.dtype == BOOL:
            return f"(bool)({args[0]} { {'+': '|', '*': '&'}.get(sign, sign) } {args[1]})"
        if one.dtype.kind in "iu":
            return _wrapped(one.dtype, args[0], sign, args[1])
        return self.rounded(one.dtype, f"({args[0]} {sign} {args[1]})")

    def cast(self, one: Expression, args: Sequence[str]) -> str:
        source = one.args[0].dtype
        if one.dtype == BOOL:
            return f"({args[0]} != {self.literal(0, source)})"
        if one.dtype in HALF_DTYPES:
            return self.rounded(one.dtype, f"(float)({args[0]})")
        return f"({register_type(one.dtype)}){args[0]}"

    def truth(self, arg: Expression, operand: str) -> str:
        return operand if arg.dtype == BOOL else f"({operand} != {self.literal(0, arg.dtype)})"

    def size_of(self, arg: Expression, operand: str) -> str:
        """The absolute value of a float."""
        return f"{self.function('fabs')}({operand})"


def _wrapped(dtype: Any, a: str, sign: str, b: str) -> str:
    """An integer operation that wraps around, which C++ guarantees for unsigned types only."""
    if dtype.kind == "i" and dtype.itemsize >= 4 and sign in "+-*":
        wide = f"unsigned {_TYPES[f'i{dtype.itemsize}']}"
        return f"({storage_type(dtype)})(({wide}){a} {sign} ({wide}){b})"
    if dtype.itemsize < 4:
        return f"({storage_type(dtype)})((unsigned int){a} {sign} (unsigned int){b})"
    return f"({a} {sign} {b})"


Special = Callable[[CudaExpressionWriter, Expression, Sequence[str]], str]


def _negative(text: CudaExpressionWriter, one: Expression, args: Sequence[str]) -> str:
    if is_float(one.dtype):
        return f"(-{args[0]})"
    return _wrapped(one.dtype, text.literal(0, one.dtype), "-", args[0])


def _absolute(text: CudaExpressionWriter, one: Expression, args: Sequence[str]) -> str:
    if is_float(one.dtype):
        return text.size_of(one, args[0])
    if one.dtype.kind in "ub":
        return args[0]
    zero = text.literal(0, one.dtype)
    return f"({args[0]} < {zero} ? {_wrapped(one.dtype, zero, '-', args[0])} : {args[0]})"


def _square(text: CudaExpressionWriter, one: Expression, args: Sequence[str]) -> str:
    if is_float(one.dtype):
        return text.rounded(one.dtype, f"({args[0]} * {args[0]})")
    return _wrapped(one.dtype, args[0], "*", args[0])


def _logical(sign: str) -> Special:
    def made(text: CudaExpressionWriter, one: Expression, args: Sequence[str]) -> str:
        a, b = (text.truth(arg, operand) for arg, operand in zip(one.args, args, strict=True))
        return f"(bool)({a} {sign} {b})"

    return made


def _not(text: CudaExpressionWriter, one: Expression, args: Sequence[str]) -> str:
    return f"(!{text.truth(one.args[0], args[0])})"


def _invert(text: CudaExpressionWriter, one: Expression, args: Sequence[str]) -> str:
    return _not(text, one, args) if one.dtype == BOOL else f"({storage_type(one.dtype)})(~{args[0]})"


def _of_float(template: str) -> Special:
    """A test of floats with a constant result for integers."""

    def made(text: CudaExpressionWriter, one: Expression, args: Sequence[str]) -> str:
        dtype = one.args[0].dtype
        if not is_float(dtype):
            return "true" if one.name == "isfinite" else "false"
        infinite = text.literal(math.inf, dtype)
        return template.format(x=args[0], size=text.size_of(one.args[0], args[0]), inf=infinite)

    return made


def _power(text: CudaExpressionWriter, one: Expression, args: Sequence[str]) -> str:
    if not is_float(one.dtype):
        raise LoweringUnsupported("integer powers are not supported in kernels")
    exponent = one.args[1]
    exponent_value = exponent.value if exponent.name == "number" else None
    if exponent_value == 1.0:
        return args[0]
    if exponent_value == 2.0:
        return _square(text, one, args)
    if exponent_value == 0.5:
        return text.rounded(one.dtype, f"{text.function('sqrt')}({args[0]})")
    name = text.function(f"power{64 if one.dtype.itemsize == 8 else 32}")
    return text.rounded(one.dtype, f"{name}({args[0]}, {args[1]})")


def _divide(text: CudaExpressionWriter, one: Expression, args: Sequence[str]) -> str:
    return text.rounded(one.dtype, f"({args[0]} / {args[1]})")


_SPECIAL: dict[str, Special] = {
    "cast": CudaExpressionWriter.cast,
    "where": lambda text, one, args: f"({args[0]} ? {args[1]} : {args[2]})",
    "true_divide": _divide,
    "divide": _divide,
    "negative": _negative,
    "positive": lambda text, one, args: args[0],
    "absolute": _absolute,
    "fabs": _absolute,
    "square": _square,
    "reciprocal": lambda text, one, args: _divide(text, one, [text.literal(1, one.dtype), args[0]]),
    "sqrt": lambda text, one, args: text.rounded(one.dtype, f"{text.function('sqrt')}({args[0]})"),
    "copysign": lambda text, one, args: f"{text.function('copysign')}({args[0]}, {args[1]})",
    "logical_and": _logical("&"),
    "logical_or": _logical("|"),
    "logical_xor": _logical("^"),
    "logical_not": _not,
    "invert": _invert,
    "isnan": _of_float("({x} != {x})"),
    "isfinite": _of_float("({size} < {inf})"),
    "isinf": _of_float("({size} == {inf})"),
    "signbit": lambda text, one, args: f"({text.function('bits')}({args[0]}) < 0)",
    "power": _power,
}


def repeats_argument(one: Expression) -> bool:
    """Whether the source contains an argument twice, so that the argument should have a name."""
    return one.name in _TWICE or (one.name == "absolute" and one.dtype.kind == "i")


__all__ = ["HALF_DTYPES", "CudaExpressionWriter", "is_float", "register_type", "repeats_argument", "storage_type"]
