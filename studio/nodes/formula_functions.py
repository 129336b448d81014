"""The functions of formulas: their arguments, from the engine's signatures and the declarations of nodes."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from engine.registry import Parameter
from studio.nodes.operation_nodes import declared_arguments, function_of, parameters_of, takes_numbers, tensors_of

FUNCTIONS = frozenset(
    {
        *("abs", "sign", "sqrt", "rsqrt", "square", "pow", "reciprocal", "maximum", "minimum", "clamp", "where"),
        *("exp", "expm1", "log", "log1p", "log2", "log10", "logit", "sigmoid", "tanh", "relu", "softplus", "erf"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh", "hypot"),
        *("floor", "ceil", "round", "trunc", "frac", "logaddexp", "sinc"),
        *("sum", "mean", "prod", "amax", "amin", "var", "std", "logsumexp", "softmax", "log_softmax", "cumsum"),
        *("matmul", "transpose", "detach"),
    }
)
"""Functions of the engine that a formula may call."""


@dataclass(frozen=True, slots=True)
class FormulaFunction:
    """The arguments of a function."""

    name: str
    positional: tuple[str, ...]
    required: tuple[str, ...]
    tensors: frozenset[str]
    """Arguments that are expressions; some may be numbers instead."""
    settings: Mapping[str, Parameter]
    """Arguments that are numbers, or may be."""
    aliases: Mapping[str, str]
    """Arguments by other names, such as "axis" for "dim"."""
    is_elementwise: bool
    """Whether any of the tensors may be a number if another one is not."""


@functools.cache
def formula_function(name: str) -> FormulaFunction:
    """The arguments of one of `FUNCTIONS`."""
    key = f"ops.{name}"
    declared = declared_arguments(function_of(key))
    settings = {parameter.name: parameter for parameter in parameters_of(key)}
    tensors = frozenset(tensors_of(key, with_numbers=True))
    known = tuple(itertools.takewhile(lambda each: each in tensors or each in settings, declared))
    assert all(declared[each].kind is not inspect.Parameter.KEYWORD_ONLY for each in known), name
    needed = tensors if name in _NEED_ALL_TENSORS else frozenset[str]()
    return FormulaFunction(
        name,
        known,
        tuple(each for each in known if each in needed or declared[each].default is inspect.Parameter.empty),
        tensors,
        settings,
        getattr(function_of(key), "argument_aliases", {}),
        takes_numbers(function_of(key)),
    )


_NEED_ALL_TENSORS = frozenset({"where"})
"""Functions that declare inputs as optional that a formula needs."""


__all__ = ["FUNCTIONS", "FormulaFunction", "formula_function"]
