"""Every op that can be part of a kernel computes in CUDA what it computes in the CPU's kernel, bit for bit."""

from __future__ import annotations

import os
import sys
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from engine.compiler.kernels.kernel_program import program_of
from engine.compiler.kernels.scalar_expression import Expression, walk
from tests.engine import fake_cupy
from tests.engine.compiler.kernels import cuda_groups
from tests.engine.compiler.kernels.groups import Group
from tests.engine.compiler.kernels.test_registry import AT_ONCE, DTYPES, _added, _groups
from tests.engine.fake_cuda import DEVICES, STAND_IN

LIBRARY = {"sin", "cos", "tan", "sinh", "cosh", "arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh",
           "arctanh", "hypot", "power"}  # fmt: skip
"""Functions that each device takes from another library."""
SAMPLED = {np.dtype(np.float32): 0, np.dtype(np.float64): 1, np.dtype(np.int64): 0, np.dtype(np.int32): 1}
"""In CI, a call is compared in one of the two dtypes of its kind; by hand in both."""


@pytest.fixture(params=DEVICES)
def _device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == STAND_IN:
        monkeypatch.setitem(sys.modules, "cupy", fake_cupy.module(devices=1))


@pytest.mark.slow
@pytest.mark.usefixtures("_device")
@pytest.mark.parametrize("kind", ["elementwise", "reduce"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_cuda_ops_match_cpu_kernels(dtype: Any, kind: str) -> None:
    wrong: list[str] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for (space, _), calls in _groups(dtype, kind).items():
            chosen = [call for call in calls if _is_chosen(call, dtype)]
            for start in range(0, len(chosen), AT_ONCE):
                wrong += _compared(space, chosen[start : start + AT_ONCE])
    assert not wrong, "\n".join(wrong)


def _is_chosen(call: Any, dtype: Any) -> bool:
    op, _, kwargs = call
    return not os.environ.get("CI") or zlib.crc32(f"{op.name}{kwargs}".encode()) % 2 == SAMPLED[np.dtype(dtype)]


def _compared(space: tuple[int, ...], calls: list[Any]) -> Iterator[str]:
    group, results, names = Group(), [], []
    for op, args, kwargs in calls:
        made = _added(group, op, args, kwargs)
        results += made
        names += [f"{op.name}{kwargs}"] * len(made)
    program = program_of(group.fused(space, results))
    both = zip(cuda_groups.run(group, space, results), group.run(space, results), strict=True)
    for (result, _), (found, expected), name in zip(program.outputs, both, names, strict=True):
        if not _close(found, expected, result.expression):
            yield f"{name}: {found.ravel()[:12]} instead of {expected.ravel()[:12]}"


def _close(found: Any, expected: Any, expression: Expression) -> bool:
    if expected.dtype.kind != "f" or not {one.name for one in walk([expression])} & LIBRARY:
        return np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f")
    near = np.abs(found - expected) <= 16 * np.spacing(np.maximum(np.abs(expected), expected.dtype.type(1)))
    return bool((near | (found == expected) | (np.isnan(found) & np.isnan(expected))).all())
