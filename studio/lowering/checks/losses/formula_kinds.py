"""The kind of values that a formula outputs, from the kinds of its inputs."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import replace

from studio.lowering.checks.losses.formula_activations import activation_of
from studio.lowering.checks.losses.kind_tables import (
    KINDS,
    LOG_PROBABILITIES,
    POSITIVE,
    SCORES,
    UNLIMITED,
    ValueKind,
)
from studio.nodes.formula_constants import constant_value
from studio.nodes.formula_text import parse_formula
from studio.nodes.syntax_nodes import EXPRESSION

_KEEPING = frozenset({"mean", "amax", "amin", "transpose", "detach"})
"""Functions whose results are values of their input, or lie between them."""

Kinds = Mapping[str, ValueKind | None]


def formula_kind(expression: object, kinds: Kinds) -> ValueKind | None:
    """The kind of the values of a formula; None if it is not known.

    Args:
        kinds: those of its inputs
    """
    try:
        tree = parse_formula(str(expression or EXPRESSION)).tree
    except ValueError:
        return None
    return _kind(tree, kinds)


def _kind(tree: ast.expr, kinds: Kinds) -> ValueKind | None:
    if (number := _number(tree)) is not None:
        return ValueKind(low=number, high=number)
    if (found := activation_of(tree)) is not None:
        return KINDS[found[0]]
    match tree:
        case ast.Name(id=name):
            return kinds.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _scaled(_kind(operand, kinds), -1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as kind, right=right):
            sign = 1 if isinstance(kind, ast.Add) else -1
            return _sum(_kind(left, kinds), _scaled(_kind(right, kinds), sign))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            factor, other = (_number(left), right) if _number(left) is not None else (_number(right), left)
            return None if factor is None else _scaled(_kind(other, kinds), factor)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            divisor = _number(right)
            return None if not divisor else _scaled(_kind(left, kinds), 1 / divisor)
        case ast.BinOp(op=ast.Pow(), right=right):
            power = _number(right)
            return POSITIVE if power is not None and power % 2 == 0 and power > 0 else None
        case ast.Call(func=ast.Name(id="log"), args=[argument]):
            inner = _kind(argument, kinds)
            return LOG_PROBABILITIES if inner is not None and inner.noun == "probabilities" else None
        case ast.Call(func=ast.Name(id="clamp"), args=[argument, *limits], keywords=keywords):
            return _clamped(_kind(argument, kinds), limits, keywords)
        case ast.Call(func=ast.Name(id=name), args=[argument, *_]) if name in _KEEPING:
            return _kind(argument, kinds)
        case _:
            return None


def is_affine(expression: object) -> bool:
    """Whether a formula of one input only scales and shifts it."""
    try:
        return _is_affine(parse_formula(str(expression or EXPRESSION)).tree)
    except ValueError:
        return False


def _is_affine(tree: ast.expr) -> bool:
    match tree:
        case ast.Name():
            return True
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_affine(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return all(_number(each) is not None or _is_affine(each) for each in (left, right))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return (_number(left) is not None and _is_affine(right)) or (
                _is_affine(left) and _number(right) is not None
            )
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _is_affine(left) and _number(right) is not None
        case _:
            return False


def _number(tree: ast.expr) -> float | None:
    if any(isinstance(each, ast.Name) and each.id != "pi" for each in ast.walk(tree)):
        return None
    try:
        return float(constant_value(tree))
    except ValueError:
        return None


def _scaled(kind: ValueKind | None, factor: float) -> ValueKind | None:
    if kind is None or kind == SCORES or factor == 1:
        return kind if factor else None
    ends = sorted((kind.low * factor, kind.high * factor)) if factor else [0.0, 0.0]
    return ValueKind(low=ends[0], high=ends[1])


def _sum(first: ValueKind | None, second: ValueKind | None) -> ValueKind | None:
    """The sum of an unbounded value with any other is unbounded."""
    if SCORES in (first, second):
        return SCORES
    if first is None or second is None:
        return None
    return ValueKind(low=first.low + second.low, high=first.high + second.high)


def _clamped(kind: ValueKind | None, limits: list[ast.expr], keywords: list[ast.keyword]) -> ValueKind:
    given = dict(zip(("min", "max"), limits, strict=False))
    given |= {each.arg: each.value for each in keywords if each.arg is not None}
    low, high = (_number(given[name]) if name in given else None for name in ("min", "max"))
    kind = kind or UNLIMITED
    noun = "values" if kind == SCORES and given else kind.noun
    ends = max(kind.low, -math.inf if low is None else low), min(kind.high, math.inf if high is None else high)
    return replace(kind, noun=noun, low=ends[0], high=ends[1])


__all__ = ["formula_kind", "is_affine"]
