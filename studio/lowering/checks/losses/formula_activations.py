"""Activations that formulas apply last, such as "softmax(x / 2, dim=1)" or "1 / (1 + exp(-x))"."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from studio.nodes.formula_text import parse_formula
from studio.nodes.syntax_nodes import EXPRESSION, FORMULA
from studio.nodes.types import NodeType

_FUNCTIONS = {
    "softmax": "nn.Softmax",
    "log_softmax": "nn.LogSoftmax",
    "sigmoid": "nn.Sigmoid",
    "tanh": "nn.Tanh",
    "relu": "nn.ReLU",
    "softplus": "nn.Softplus",
    "exp": "ops.exp",
    "square": "ops.square",
    "abs": "ops.abs",
    "sqrt": "ops.sqrt",
    "sin": "ops.sin",
    "cos": "ops.cos",
}
"""Functions with a limited range, and the node that computes the same."""
_LOGARITHMS = {"nn.Softmax": "nn.LogSoftmax", "nn.Sigmoid": "nn.LogSigmoid"}
_CALLS = {
    "nn.Softmax": "softmax({argument}, dim={dim})",
    "nn.LogSoftmax": "log_softmax({argument}, dim={dim})",
    "nn.Sigmoid": "sigmoid({argument})",
    "nn.LogSigmoid": "log(sigmoid({argument}))",
}
"""Formulas of activations."""
_LARGEST_SHIFT = 1e-2
"""Number that is added to probabilities before their logarithm."""


@dataclass(frozen=True, slots=True)
class FormulaActivation:
    """The outermost function of a formula."""

    key: str
    """The node that computes the same, such as "nn.Softmax"."""
    argument: str
    """What it is applied to, such as "x / 2"."""
    inputs: tuple[str, ...]
    """The inputs of the argument."""
    dim: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the formula does nothing else."""
        return self.inputs == (self.argument,)

    def as_call(self, key: str, dim: int | None = None) -> str:
        """The formula with another activation."""
        dim = self.dim if dim is None else dim
        return _CALLS[key].format(argument=self.argument, dim=dim)


def formula_activation(node_type: NodeType, expression: object) -> FormulaActivation | None:
    """The activation that a node of this type applies; None for other nodes and formulas."""
    if node_type.key != FORMULA:
        return None
    try:
        return _read(str(expression or EXPRESSION))
    except ValueError:
        return None


@lru_cache(maxsize=256)
def _read(expression: str) -> FormulaActivation | None:
    found = activation_of(parse_formula(expression).tree)
    if found is None:
        return None
    key, argument, dim = found
    text = ast.unparse(argument)
    return FormulaActivation(key, text, parse_formula(text).inputs, dim)


def activation_of(tree: ast.expr) -> tuple[str, ast.expr, int | None] | None:
    match tree:
        case ast.Call(func=ast.Name(id="log"), args=[argument]):
            inner = activation_of(_without_shift(argument))
            return None if inner is None or inner[0] not in _LOGARITHMS else (_LOGARITHMS[inner[0]], *inner[1:])
        case ast.Call(func=ast.Name(id="maximum"), args=[argument, ast.Constant(value=0)]):
            return "nn.ReLU", argument, None
        case ast.Call(func=ast.Name(id="maximum"), args=[ast.Constant(value=0), argument]):
            return "nn.ReLU", argument, None
        case ast.Call(func=ast.Name(id="clamp"), args=[argument, *limits], keywords=keywords) if _is_rectifier(
            limits, keywords
        ):
            return "nn.ReLU", argument, None
        case ast.Call(func=ast.Name(id=name), args=[argument, *_]) if name in _FUNCTIONS:
            return _FUNCTIONS[name], argument, _dimension(tree)
        case ast.BinOp(left=ast.Constant(value=1), op=ast.Div(), right=divisor):
            return _of_logistic(divisor)
        case ast.BinOp(left=left, op=ast.Div(), right=ast.Call(func=ast.Name(id="sum"), args=[total, *_]) as divisor):
            is_same = ast.unparse(left) == ast.unparse(total)
            argument = _exponent(left)
            return ("nn.Softmax", argument, _dimension(divisor)) if is_same and argument is not None else None
        case ast.BinOp(
            left=left, op=ast.Sub(), right=ast.Call(func=ast.Name(id="logsumexp"), args=[total, *_]) as sum_
        ):
            return ("nn.LogSoftmax", left, _dimension(sum_)) if ast.unparse(left) == ast.unparse(total) else None
        case _:
            return None


def _without_shift(tree: ast.expr) -> ast.expr:
    """Without what keeps a logarithm finite: a small number that is added, or a lower limit."""
    match tree:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=int() | float() as shift)) if (
            abs(shift) <= _LARGEST_SHIFT
        ):
            return left
        case ast.Call(func=ast.Name(id="clamp" | "maximum"), args=[argument, *_]):
            return argument
        case _:
            return tree


def _is_rectifier(limits: list[ast.expr], keywords: list[ast.keyword]) -> bool:
    """Whether arguments of clamp are the lower limit 0 alone."""
    given = [*limits, *(each.value for each in keywords if each.arg == "min")]
    has_upper = len(limits) > 1 or any(each.arg == "max" for each in keywords)
    return not has_upper and len(given) == 1 and isinstance(given[0], ast.Constant) and given[0].value == 0


def _of_logistic(divisor: ast.expr) -> tuple[str, ast.expr, int | None] | None:
    """Sigmoid as 1 / (1 + exp(-x))."""
    match divisor:
        case ast.BinOp(left=ast.Constant(value=1), op=ast.Add(), right=power):
            pass
        case ast.BinOp(left=power, op=ast.Add(), right=ast.Constant(value=1)):
            pass
        case _:
            return None
    match _exponent(power):
        case ast.UnaryOp(op=ast.USub(), operand=argument):
            return "nn.Sigmoid", argument, None
        case _:
            return None


def _exponent(tree: ast.expr) -> ast.expr | None:
    match tree:
        case ast.Call(func=ast.Name(id="exp"), args=[argument]):
            return argument
        case _:
            return None


def _dimension(call: ast.Call) -> int | None:
    """The dimension that a function is computed over."""
    given = [each.value for each in call.keywords if each.arg in ("dim", "axis")] or call.args[1:2]
    try:
        value = ast.literal_eval(given[0]) if given else None
    except ValueError:
        return None
    return value if isinstance(value, int) else None


__all__ = ["FormulaActivation", "activation_of", "formula_activation"]
