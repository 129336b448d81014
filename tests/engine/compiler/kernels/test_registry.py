"""Every op that can be part of a kernel computes there what its NumPy kernel computes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from engine.compiler.kernels import lowering_failure
from engine.compiler.kernels.kernel_program import program_of
from engine.compiler.kernels.scalar_expression import Expression, walk
from engine.ops.record import REGISTRY, Op
from tests.engine.compiler.kernels.groups import Group
from tests.engine.ops.sampler import samples

ROUNDED = {
    "exp", "exp2", "expm1", "tanh", "log", "log2", "log10", "log1p", "logaddexp", "power", "sin", "cos", "tan", "sinh",
    "cosh", "arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh", "hypot", "reduce",
}  # fmt: skip
"""Functions that may differ by units in the last place; all others are bit-identical."""
CANCELLING = {"logaddexp", "reduce"}
"""Functions whose error is that of the largest number on the way."""
DTYPES = [np.float32, np.int64, *(pytest.param(dtype, marks=pytest.mark.slow) for dtype in (np.float64, np.int32))]
AT_ONCE = 10
"""Nodes of one kernel."""
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, -1e30]


def _calls(op: Op, dtype: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """One call for each set of keywords, and one with all that is special."""
    try:
        calls = [] if op.kind == "other" and op.sample is None else samples(op, dtype)  # some only the engine calls
    except ValueError:  # samples with NaN in them
        return
    if op.kind == "reduce":
        yield from calls
        return
    for number, (args, kwargs) in enumerate(calls):
        if kwargs not in [earlier for _, earlier in calls[:number]]:
            yield args, kwargs
    arrays = [arg for arg in calls[-1][0] if isinstance(arg, np.ndarray)] if calls else []
    if arrays and op.kind == "elementwise" and all(one.dtype == dtype for one in arrays):
        args, kwargs = calls[-1]
        special = np.array(SPECIAL if np.dtype(dtype).kind == "f" else [-3, -2, -1, 0, 1, 2, 3, 7], dtype)
        grid = [special, np.repeat(special, special.size).reshape(special.size, -1)]
        yield tuple(grid[i % 2] if isinstance(arg, np.ndarray) else arg for i, arg in enumerate(args)), kwargs


def _groups(dtype: Any, kind: str) -> dict[Any, list[Any]]:
    """Calls whose ops can be part of a kernel, by the iteration space and what is reduced."""
    found: dict[Any, list[Any]] = {}
    for op in list(REGISTRY.values()):
        if op.kind == "movement" or (op.kind == "reduce") != (kind == "reduce"):
            continue
        for args, kwargs in _calls(op, dtype):
            trial = Group()
            if not _added(trial, op, args, kwargs) or lowering_failure(trial.nodes[0]) is not None:
                continue
            (node,) = trial.nodes
            space = node.values[0].shape if kind == "reduce" else np.broadcast_shapes(*(v.shape for v in node.values))
            over = kwargs.get("dim") if kind == "reduce" else None
            found.setdefault((tuple(space), over), []).append((op, args, kwargs))
    return found


def _added(group: Group, op: Op, args: Any, kwargs: Any) -> Any:
    try:
        inputs, statics = op.bind(args, dict(kwargs))
        found = group.add(op, *[group.input(v) if isinstance(v, np.ndarray) else v for v in inputs], **statics)
    except (TypeError, ArithmeticError, RuntimeError, ValueError):  # eager mode refuses it
        return None
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("kind", ["elementwise", "reduce"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_kernels_of_ops_match_numpy(dtype: Any, kind: str) -> None:
    wrong: list[str] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for (space, _), calls in _groups(dtype, kind).items():
            for start in range(0, len(calls), AT_ONCE):
                wrong += _compared(space, calls[start : start + AT_ONCE])
    assert not wrong, "\n".join(wrong)


def _compared(space: tuple[int, ...], calls: list[Any]) -> Iterator[str]:
    group, results, names = Group(), [], []
    for op, args, kwargs in calls:
        made = _added(group, op, args, kwargs)
        results += made
        names += [f"{op.name}{tuple(getattr(a, 'shape', a) for a in args)}{kwargs}"] * len(made)
    program = program_of(group.fused(space, results))
    for (result, value), found, name in zip(program.outputs, group.run(space, results), names, strict=True):
        expected = group.arrays[value]
        if not _close(found, expected, result.expression):
            yield f"{name} {value.dtype}: {found.ravel()[:12]} instead of {expected.ravel()[:12]}"


def _close(found: Any, expected: Any, expression: Expression) -> bool:
    used = {one.name for one in walk([expression])}
    if expected.dtype.kind != "f" or not used & ROUNDED:
        return np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f")
    direct = expression.name in ROUNDED - CANCELLING and all(arg.name in ("input", "cast") for arg in expression.args)
    floor = np.finfo(expected.dtype).tiny if direct else 1.0
    scale = np.spacing(np.maximum(np.abs(expected), expected.dtype.type(floor)))
    near = np.abs(found - expected) <= (4 if direct else 16) * scale
    return bool((near | (found == expected) | (np.isnan(found) & np.isnan(expected))).all())
