"""The scalar functions of kernels for NumPy arrays: their Python source, with `np.where` in place of branches.

The operations and their order are unchanged, so that each element has the bits of a kernel. numba is not needed.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine.system.syntax import parse_source

SOURCES = ("exponential", "logarithm", "binary")
"""Modules of `functions` that are written in Python."""


@functools.cache
def numpy_functions() -> dict[str, Callable[..., Any]]:
    """All functions by name."""
    namespace: dict[str, Any] = {**_NAMES, "inf": math.inf, "nan": math.nan, "math": math}
    for name in SOURCES:
        path = Path(__file__).parent / "functions" / f"{name}.py"
        module = _Vectorized().visit(parse_source(path.read_text(encoding="utf-8")))
        exec(compile(ast.fix_missing_locations(module), str(path), "exec"), namespace)  # noqa: S102 - a file of ours
    return namespace


def _choose(condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition, x, y)


def _typed(dtype: Any) -> Callable[[Any], Any]:
    kind = np.dtype(dtype).type
    return lambda x: x.astype(kind, copy=False) if isinstance(x, np.ndarray) else kind(x)


def _bits(x: Any) -> Any:
    found = np.float64(x) if type(x) is float else x
    return found.view(np.int32 if found.dtype == np.float32 else np.int64)


def _from_bits(x: Any) -> Any:
    return x.view(np.float32 if x.dtype == np.int32 else np.float64)


def _power(x: Any, y: Any) -> Any:
    return apply_elementwise(math.pow, np.power)(x, y)


def apply_elementwise(exact: Callable[..., float], ends: Any) -> Callable[..., Any]:
    """Applies a function of `math` to all elements; where it raises, NumPy's result is used."""

    def one(*numbers: float) -> float:
        try:
            return exact(*numbers)
        except (ValueError, OverflowError):
            with np.errstate(all="ignore"):
                return float(ends(*numbers))

    def over(*arrays: Any) -> Any:
        dtype = arrays[0].dtype
        wide = [np.asarray(one, np.float64) for one in arrays]
        return np.asarray(np.frompyfunc(one, len(wide), 1)(*wide), np.float64).astype(dtype)

    return over


_NAMES: dict[str, Any] = {
    "choose": _choose,
    "bits": _bits,
    "from_bits": _from_bits,
    "min": lambda x, y: np.where(y < x, y, x),
    "max": lambda x, y: np.where(y > x, y, x),
    "like": lambda x, number: x.dtype.type(number),
    "power": _power,
    **{name: getattr(np, name) for name in ("copysign", "fabs", "floor", "fmod")},
    **{name: _typed(name) for name in ("float32", "float64", "int32", "int64")},
}
"""Names that the sources use: see `functions/llvm_instructions.py`."""


class _Vectorized(ast.NodeTransformer):
    """Replaces branches by choices, and removes decorators of numba."""

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        return node if node.module == "__future__" else None

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        return None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.generic_visit(node)
        node.decorator_list = []
        body: list[ast.stmt] = []
        early: list[tuple[ast.expr, ast.expr]] = []
        for line in node.body:
            if isinstance(line, ast.If):
                found = line.body[0]
                if isinstance(found, ast.Return) and found.value is not None:
                    early.append((line.test, found.value))
                elif isinstance(found, ast.Assign) and isinstance(found.targets[0], ast.Name):
                    found.value = _choose_call(line.test, found.value, ast.Name(found.targets[0].id, ast.Load()))
                    body.append(found)
            elif isinstance(line, ast.Return) and line.value is not None:
                for condition, value in reversed(early):
                    line.value = _choose_call(condition, value, line.value)
                body.append(line)
            else:
                body.append(line)
        node.body = body
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        return _choose_call(node.test, node.body, node.orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        sign = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        return functools.reduce(lambda x, y: ast.BinOp(x, sign, y), node.values)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        return ast.UnaryOp(ast.Invert(), node.operand) if isinstance(node.op, ast.Not) else node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            return ast.Call(ast.Name("power", ast.Load()), [node.left, node.right], [])
        return node


def _choose_call(condition: ast.expr, x: ast.expr, y: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("choose", ast.Load()), [condition, x, y], [])


__all__ = ["apply_elementwise", "numpy_functions"]
