"""Traces the NumPy kernel of an op with symbolic arrays, which gives scalar expressions.

The expressions are in the kernel's order. A kernel that branches on a run-time number (`if p < 1`) is traced once for
each outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.compiler.kernels.scalar_expression import Expression, LoweringUnsupported, cast, make, walk
from engine.compiler.kernels.symbolic_arrays import (
    BranchOutcomes,
    SymbolicArray,
    SymbolicNamespace,
    as_bool,
    expression_of,
)
from engine.dtypes import NUMBERS, DType, bfloat16
from engine.errors import EngineError
from engine.ops.record import Op
from engine.tensors.dispatch.promotion import promote

MAX_PATHS = 16
"""Maximum number of paths through one kernel that depend on run-time numbers."""


def trace_kernel(
    op: Op, inputs: Sequence[Any], ndims: Sequence[int], statics: dict[str, Any], mixed: bool
) -> tuple[Expression, ...]:
    """Traces the kernel of an op with expressions, numbers or None as inputs. Statics may hold expressions.

    Each op is traced once for inputs of the same kinds; the result is then reused with other expressions.

    Raises:
        LoweringUnsupported: the kernel cannot be traced
    """
    key = _key(op, inputs, ndims, statics, mixed)
    if key is None:
        return _trace_all_paths(op, inputs, ndims, statics, mixed)
    trace = _TRACES.get(key)
    if trace is None:
        if len(_TRACES) >= MAX_CACHED:
            _TRACES.clear()
        placeholders = [_placeholder(index, one) for index, one in enumerate(inputs)]
        named = {name: _placeholder(name, one) for name, one in statics.items()}
        try:
            trace = _TracedKernel(_trace_all_paths(op, placeholders, ndims, named, mixed))
        except LoweringUnsupported as reason:
            trace = LoweringUnsupported(*reason.args)  # without its traceback, which would keep frames alive
        _TRACES[key] = trace
    if isinstance(trace, LoweringUnsupported):
        raise LoweringUnsupported(*trace.args)
    return trace.with_inputs(inputs, statics)


class _TracedKernel:
    """A traced kernel with placeholders for its inputs."""

    def __init__(self, found: tuple[Expression, ...]) -> None:
        self._all = list(walk(found))
        indices = {one: index for index, one in enumerate(self._all)}
        self._args = [tuple([indices[arg] for arg in one.args]) for one in self._all]
        self._found = [indices[one] for one in found]

    def with_inputs(self, inputs: Sequence[Any], statics: dict[str, Any]) -> tuple[Expression, ...]:
        """The result with actual inputs."""
        done: list[Expression] = []
        for one, args in zip(self._all, self._args, strict=True):
            if one.name == "placeholder":
                argument = statics[one.value] if isinstance(one.value, str) else inputs[one.value]
                done.append(argument if one.weak == argument.weak else cast(argument, one.dtype))
            elif args:
                done.append(make(one.name, one.dtype, tuple([done[arg] for arg in args]), one.value, one.weak))
            else:
                done.append(one)
        return tuple([done[index] for index in self._found])


MAX_EXPRESSIONS = 200
"""Maximum number of expressions of one op; more take seconds to compile."""
MAX_CACHED = 4096
_TRACES: dict[Any, _TracedKernel | LoweringUnsupported] = {}
"""Op and kinds of inputs → traced kernel, or why it cannot be traced."""
_PLAIN = (*NUMBERS, str, type(None), DType)


def _key(op: Op, inputs: Sequence[Any], ndims: Sequence[int], statics: dict[str, Any], mixed: bool) -> Any:
    """The cache key of a trace; None if there is none."""
    found: list[Any] = [op, mixed, *ndims, *statics]
    for value in (*inputs, *statics.values()):
        if isinstance(value, Expression):
            found.append((value if value.name == "number" else value.dtype.char, value.weak))
        elif _is_plain(value):
            found.append(repr(value))
        else:
            return None
    return tuple(found)


def _is_plain(value: Any) -> bool:
    if type(value) in (tuple, list):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)


def _placeholder(index: int | str, value: Any) -> Any:
    """A placeholder for an expression; numbers stay, since they can simplify the result."""
    if not isinstance(value, Expression) or value.name == "number":
        return value
    return make("placeholder", value.dtype, value=index, weak=value.weak)


def _trace_all_paths(
    op: Op, inputs: Sequence[Any], ndims: Sequence[int], statics: dict[str, Any], mixed: bool
) -> tuple[Expression, ...]:
    remaining = [MAX_PATHS]

    def explore(outcomes: tuple[bool, ...]) -> tuple[Expression, ...]:
        remaining[0] -= 1
        if remaining[0] < 0:
            raise LoweringUnsupported(f"{op.name}: it branches too often on run-time numbers")
        branches = BranchOutcomes(outcomes)
        found = _trace_path(op, inputs, ndims, statics, mixed, branches)
        if len(branches.conditions) <= len(outcomes):
            return found
        condition = as_bool(cast(branches.conditions[len(outcomes)], branches.conditions[len(outcomes)].dtype))
        yes, no = explore((*outcomes, True)), explore((*outcomes, False))
        return tuple(a if a is b else make("where", a.dtype, (condition, a, b)) for a, b in zip(yes, no, strict=True))

    results = explore(())
    if sum(1 for _ in walk(results, [one for one in inputs if isinstance(one, Expression)])) > MAX_EXPRESSIONS:
        raise LoweringUnsupported(f"{op.name}: it has too many operations to gain from fusion")
    return results


def _trace_path(
    op: Op, inputs: Sequence[Any], ndims: Sequence[int], statics: dict[str, Any], mixed: bool, branches: BranchOutcomes
) -> tuple[Expression, ...]:
    def symbol(value: Any, ndim: int) -> Any:
        return SymbolicArray(value, ndim, branches) if isinstance(value, Expression) else value

    arguments = [symbol(value, ndim) for value, ndim in zip(inputs, ndims, strict=True)]
    named = {name: symbol(value, 0) for name, value in statics.items()}
    try:
        if mixed and op.promotes:
            arguments = _promoted(op, arguments)
        narrow = op.kind != "movement" and any(_is_narrow(one) for one in arguments)
        arguments = [one.astype(_SINGLE) if narrow and _is_narrow(one) else one for one in arguments]
        found = op.kernel(SymbolicNamespace(branches), *arguments, **named)
    except LoweringUnsupported as reason:
        raise LoweringUnsupported(f"{op.name}: {reason}") from None
    except (EngineError, TypeError, AttributeError, ValueError, LookupError, ArithmeticError) as error:
        raise LoweringUnsupported(f"{op.name}: its kernel does not support symbolic execution ({error})") from error
    results = [_strong(expression_of(one)) for one in (found if isinstance(found, tuple) else (found,))]
    if narrow and statics.get("dtype") is None:
        results = [cast(one, bfloat16.numpy) if one.dtype == _SINGLE else one for one in results]
    return tuple(results)


_SINGLE = np.dtype(np.float32)


def _is_narrow(one: Any) -> bool:
    """Whether it is bfloat16, which ops compute in float32 and round once: see `dispatch.kernels.compute_mixed`."""
    return (
        isinstance(one, SymbolicArray)
        and not one.value_expression.weak
        and one.value_expression.dtype == bfloat16.numpy
    )


def _strong(expression: Expression) -> Expression:
    return cast(expression, expression.dtype)


def _promoted(op: Op, arguments: list[Any]) -> list[Any]:
    """Promotes inputs to one dtype, as `engine.tensors.dispatch` does; run-time numbers count as floats."""
    operands = [1.0 if isinstance(one, SymbolicArray) and one.value_expression.weak else one for one in arguments]
    promote(op, operands)
    return [
        old if isinstance(old, SymbolicArray) and old.value_expression.weak else new
        for old, new in zip(arguments, operands, strict=True)
    ]


__all__ = ["trace_kernel"]
