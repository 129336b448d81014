"""Translates the scalar functions of CPU kernels from Python to CUDA C++.

CUDA has exp and tanh of equal accuracy. The CPU's functions are used instead, so that both devices do the same IEEE
operations, kernels agree bit for bit, and machines without a GPU can test what a GPU runs. Kernels are limited by
memory, not by polynomials. Functions that the CPU takes from the C library (sin, arctan2, …) are those of CUDA.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from engine.system.syntax import parse_source

SOURCES = Path(__file__).parents[1] / "functions"

_CASTS = {"float32": "float", "float64": "double", "int32": "int", "int64": "long long"}
_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.RShift: ">>", ast.LShift: "<<", ast.BitAnd: "&",
    ast.BitOr: "|", ast.BitXor: "^", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
    ast.NotEq: "!=", ast.USub: "-", ast.Invert: "~", ast.Not: "!", ast.And: "&&", ast.Or: "||",
}  # fmt: skip

_BOTH = (
    "__device__ inline float {0}(float x) {{ return ::{0}f(x); }}\n"
    "__device__ inline double {0}(double x) {{ return ::{0}(x); }}"
)
_BOTH_OF_TWO = (
    "__device__ inline float {0}(float x, float y) {{ return ::{0}f(x, y); }}\n"
    "__device__ inline double {0}(double x, double y) {{ return ::{0}(x, y); }}"
)
_EXTREME = """template <class T> __device__ inline T {name}(T x, T y) {{ return x {sign} y ? x : y; }}
__device__ inline float {name}(float x, float y) {{
    if (x == y) return __int_as_float(__float_as_int(x) {of_zeros} __float_as_int(y));
    return x {sign} y || x != x ? x : y;
}}
__device__ inline double {name}(double x, double y) {{
    if (x == y) return __longlong_as_double(__double_as_longlong(x) {of_zeros} __double_as_longlong(y));
    return x {sign} y || x != x ? x : y;
}}"""
"""NaN if either is; +0 is larger than -0."""
LIBRARY_OF_ONE = ("sin", "cos", "tan", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh")
LIBRARY_OF_TWO = ("atan2", "hypot")
INSTRUCTIONS: dict[str, str] = {
    **{name: _BOTH.format(name) for name in ("floor", "ceil", "trunc", "rint", "sqrt", "fabs", *LIBRARY_OF_ONE)},
    **{name: _BOTH_OF_TWO.format(name) for name in ("copysign", "fmod", "pow", *LIBRARY_OF_TWO)},
    "bits": "__device__ inline int bits(float x) { return __float_as_int(x); }\n"
    "__device__ inline long long bits(double x) { return __double_as_longlong(x); }",
    "from_bits": "__device__ inline float from_bits(int x) { return __int_as_float(x); }\n"
    "__device__ inline double from_bits(long long x) { return __longlong_as_double(x); }",
    "min": "template <class T> __device__ inline T min(T x, T y) { return y < x ? y : x; }",
    "max": "template <class T> __device__ inline T max(T x, T y) { return y > x ? y : x; }",
    **{
        name: _EXTREME.format(name=name, sign=sign, of_zeros=of_zeros)
        for name, sign, of_zeros in (("larger", ">", "&"), ("smaller", "<", "|"))
    },
    "like": "template <class T> __device__ inline T like(T, long long number) { return (T)number; }",
    "Two": "template <class A, class B> struct Two { A a; B b; };",
    "half": "__device__ inline float from_half(unsigned short x) { return __half2float(__ushort_as_half(x)); }\n"
    "__device__ inline unsigned short to_half(float x) { return __half_as_ushort(__float2half_rn(x)); }",
    "bfloat": "__device__ inline float from_bfloat(unsigned short x) { return __int_as_float((int)x << 16); }\n"
    "__device__ inline unsigned short to_bfloat(float x) {\n"
    "    unsigned int raw = (unsigned int)__float_as_int(x);\n"
    "    return x != x ? 0x7fc0 : (unsigned short)((raw + 0x7fff + (raw >> 16 & 1)) >> 16);\n}",
}  # fmt: skip
"""Operations that numba gets from LLVM; see `functions/llvm_instructions.py`."""


class TranslationUnsupported(Exception):  # noqa: N818 - found by tests, never by users
    """A construct that the translation does not support."""


@functools.cache
def _tree() -> tuple[dict[str, ast.FunctionDef], dict[str, ast.expr]]:
    """All functions and constants by name."""
    functions: dict[str, ast.FunctionDef] = {}
    constants: dict[str, ast.expr] = {}
    for path in sorted(SOURCES.glob("*.py")):
        for node in parse_source(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                functions[node.name] = node
            elif isinstance(node, ast.Assign):
                constants.update(_assigned(node.targets[0], node.value))
    return functions, constants


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from _assigned(one, other)


def definitions(names: Iterable[str]) -> list[str]:
    """The definitions of functions, dependencies first. Raises TranslationUnsupported."""
    found: dict[str, str] = {}

    def add(name: str) -> None:
        if name in found:
            return
        if name in INSTRUCTIONS:
            found[name] = INSTRUCTIONS[name]
            return
        text, needed = _defined(name)
        for one in needed:
            add(one)
        found[name] = text

    for name in sorted(names):
        add(name)
    return list(found.values())


@functools.cache
def _defined(name: str) -> tuple[str, tuple[str, ...]]:
    functions, _ = _tree()
    if name not in functions:
        raise TranslationUnsupported(f"there is no function {name}")
    writer = _Function(functions[name])
    return writer.text(), tuple(dict.fromkeys(writer.needed))


class _Function:
    """Translates a function. Each argument has a separate type, as in numba."""

    def __init__(self, node: ast.FunctionDef) -> None:
        self.node = node
        self.variables = [one.arg for one in node.args.args]
        self.needed: list[str] = []

    def text(self) -> str:
        kinds = [f"{name[0].upper()}{index}" for index, name in enumerate(self.variables)]
        arguments = ", ".join(f"{kind} {name}" for kind, name in zip(kinds, self.variables, strict=True))
        classes = ", ".join(f"class {kind}" for kind in kinds)
        head = f"template <{classes}> __device__ inline auto {self.node.name}({arguments}) {{"
        lines = [line for one in self.node.body for line in self.statement(one)]
        return "\n".join([head, *("    " + line for line in lines), "}"])

    def statement(self, one: ast.stmt) -> list[str]:
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
            return []
        if isinstance(one, ast.Return) and one.value is not None:
            return [f"return {_bare(self.expression(one.value))};"]
        if isinstance(one, ast.If):
            inside = [line for each in one.body for line in self.statement(each)]
            other = [line for each in one.orelse for line in self.statement(each)]
            found = [f"if ({_bare(self.expression(one.test))}) {{", *("    " + line for line in inside)]
            return [*found, *(["} else {", *("    " + line for line in other)] if other else []), "}"]
        if isinstance(one, ast.Assign):
            return self.assignment(one.targets[0], one.value)
        raise TranslationUnsupported(ast.unparse(one))

    def assignment(self, target: ast.expr, value: ast.expr) -> list[str]:
        if isinstance(target, ast.Name):
            is_new = target.id not in self.variables
            text = _bare(self.expression(value))
            self.variables += [target.id] * is_new
            return [f"{'auto ' if is_new else ''}{target.id} = {text};"]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = zip(target.elts, value.elts, strict=True)
            return [line for one, other in pairs for line in self.assignment(one, other)]
        if isinstance(target, ast.Tuple):
            names = [one.id for one in target.elts if isinstance(one, ast.Name)]
            text = self.expression(value)
            if set(names) & set(self.variables):
                raise TranslationUnsupported(ast.unparse(target))
            self.variables += names
            return [f"auto [{', '.join(names)}] = {text};"]
        raise TranslationUnsupported(ast.unparse(target))

    def expression(self, one: ast.expr) -> str:
        if isinstance(one, ast.Constant):
            return constant(one.value)
        if isinstance(one, ast.Name):
            return self.name(one.id)
        if isinstance(one, ast.Attribute):
            return self.name(one.attr)
        if isinstance(one, ast.UnaryOp):
            return f"({_SIGNS[type(one.op)]}{self.expression(one.operand)})"
        if isinstance(one, ast.BinOp):
            return self.operation(one)
        if isinstance(one, ast.BoolOp):
            return "(" + f" {_SIGNS[type(one.op)]} ".join(map(self.expression, one.values)) + ")"
        if isinstance(one, ast.Compare):
            return f"({self.expression(one.left)} {_SIGNS[type(one.ops[0])]} {self.expression(one.comparators[0])})"
        if isinstance(one, ast.IfExp):
            return f"({self.expression(one.test)} ? {self.expression(one.body)} : {self.expression(one.orelse)})"
        if isinstance(one, ast.Tuple):
            self.needed.append("Two")
            parts = [_bare(self.expression(each)) for each in one.elts]
            return f"Two<{', '.join(f'decltype({part})' for part in parts)}>{{{', '.join(parts)}}}"
        if isinstance(one, ast.Call):
            return self.call(one)
        raise TranslationUnsupported(ast.unparse(one))

    def operation(self, one: ast.BinOp) -> str:
        left, right = self.expression(one.left), self.expression(one.right)
        if isinstance(one.op, ast.Pow):
            self.needed.append("pow")
            return f"pow({left}, {right})"
        return f"({left} {_SIGNS[type(one.op)]} {right})"

    def name(self, name: str) -> str:
        if name in self.variables:
            return name
        if name in ("inf", "nan"):
            return f"__longlong_as_double({'0x7ff0000000000000LL' if name == 'inf' else '0x7ff8000000000000LL'})"
        constants = _tree()[1]
        if name in constants:
            return self.expression(constants[name])
        raise TranslationUnsupported(f"{self.node.name} uses {name}")

    def number(self, one: ast.expr) -> float | None:
        """The value of a constant expression."""
        if isinstance(one, ast.Name) and one.id not in self.variables:
            one = _tree()[1].get(one.id, one)
        try:
            return ast.literal_eval(one)
        except ValueError:
            return None

    def call(self, one: ast.Call) -> str:
        name = (
            one.func.id
            if isinstance(one.func, ast.Name)
            else one.func.attr
            if isinstance(one.func, ast.Attribute)
            else ""
        )
        arguments = [_bare(self.expression(each)) for each in one.args]
        if name in _CASTS:
            number = self.number(one.args[0])
            if number is None:
                return f"({_CASTS[name]})({arguments[0]})"
            return literal(float(number), int(name[-2:]) // 8) if name.startswith("float") else constant(int(number))
        self.needed.append(name)
        return f"{name}({', '.join(arguments)})"


def _bare(text: str) -> str:
    """Removes parentheses around the whole text."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for index, sign in enumerate(text):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth == 0:
            return text[1:-1] if index == len(text) - 1 else text
    return text


def constant(value: object) -> str:
    """A Python constant as C++."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}LL" if value > 0x7FFFFFFF or value < -0x80000000 else str(value)
    if isinstance(value, float):
        return literal(value, 8)
    raise TranslationUnsupported(repr(value))


def literal(value: float, size: int) -> str:
    """A float literal of 4 or 8 bytes."""
    if math.isnan(value):
        return "__int_as_float(0x7fc00000)" if size == 4 else "__longlong_as_double(0x7ff8000000000000LL)"
    if math.isinf(value):
        sign = "-" if value < 0 else ""
        return f"({sign}{'__int_as_float(0x7f800000)' if size == 4 else '__longlong_as_double(0x7ff0000000000000LL)'})"
    if size == 8:
        return repr(value)
    short = _short(value)
    return f"{short}f"


def _short(value: float) -> str:
    """The shortest digits that identify a float32 number."""
    return repr(float(str(np.float32(value))))


__all__ = [
    "INSTRUCTIONS",
    "LIBRARY_OF_ONE",
    "LIBRARY_OF_TWO",
    "SOURCES",
    "TranslationUnsupported",
    "definitions",
    "literal",
]
