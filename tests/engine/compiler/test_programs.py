"""Random programs do under compile what they do without: numbers, memory, histories, errors, generators."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine.compiler import CompiledFunction
from engine.errors import ShapeError
from engine.modes import MODES
from tests.compiled import bitwise, waiting
from tests.engine import fake_cupy
from tests.engine.compiler.worlds import Step, World, history, same, steps
from tests.engine.programs import VIEW

BITWISE = {
    "neg", "abs", "relu", "clone", "contiguous", "detach", "flatten", "squeeze", "amax", "add", "sub", "maximum",
    "minimum", "where", "cat", "stack", "flip", "take", "index_select", "gather", "roll", "tril", "repeat", "tile",
    "masked_fill", "select_scatter", "pad", "clamp", "clamp_by", "amin", "neg_", "zero_", "relu_", "add_number",
    "mul_number", "fill_", "add_", "sub_", "copy_", "masked_fill_", "clamp_", "setitem", "set_number", "copy_where",
    "scale", "add_alpha", "times_whole", "clamp_number", "add_number_", "fill_number_", "mix_", "part_", "alias_",
    "number_at", "full", "ones_like", "dropout", "rand_like", "uniform_", "single", "double", "half", "long",
    "compared",
    "where_", "itself", "keep", "drop", "size", "signed_zero", "backward", "step", "zero_grad", "branch", "expose",
    "poke", "raises", *VIEW,
}  # fmt: skip
"""Steps whose results do not depend on the order of sums or on whose exp() it is."""


def run(world: World, program: Sequence[Step]) -> list[Any]:
    return world.run(program)


def compare(program: Sequence[Step], exact: bool = False) -> None:
    expected = history(program, run)
    for ours, eager in zip(history(program, CompiledFunction(run, exact=exact)), expected, strict=True):
        same(ours, eager)


@pytest.mark.timeout(0)  # what hypothesis is interrupted in, it calls flaky
@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=int(os.environ.get("PROGRAMS", "700" if os.environ.get("CI") else "300")))
@given(st.lists(steps(), min_size=4, max_size=14), st.booleans())
def test_random_programs_match_eager_mode(program: list[Step], exact: bool) -> None:
    """Covers recording, graphs, passes, fusion, memory planning and writes to inputs.

    In exact mode, recorded calls are undone and computed again by a plan.
    """
    with bitwise():
        compare(program, exact)


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=25)
@given(st.lists(steps().filter(lambda step: step.name in BITWISE), min_size=2, max_size=10))
def test_random_programs_with_compiled_kernels_match_eager_mode(program: list[Step]) -> None:
    with waiting():
        compare(program)


def calls(function: Any, count: int = 3) -> tuple[list[Any], list[Any]]:
    """Return the results of calls of a function, eager and compiled; `function` creates its objects in each call."""
    compiled = CompiledFunction(function)
    return [function() for _ in range(count)], [compiled() for _ in range(count)]


def test_input_view_is_written_before_its_base_is_read() -> None:
    def f() -> list[float]:
        base = engine.arange(4.0)
        part = base[1:]

        def inner() -> engine.Tensor:
            part.mul_(2)
            return base * 1

        return compiled(inner).tolist()

    compiled = CompiledFunction(lambda function: function())
    assert [f() for _ in range(3)] == [[0, 2, 4, 6]] * 3


def test_inputs_that_share_memory() -> None:
    def f(x: engine.Tensor, part: engine.Tensor) -> engine.Tensor:
        part.mul_(2)
        return x * 1

    compiled = CompiledFunction(f)
    for _ in range(3):
        x = engine.arange(4.0)
        assert compiled(x, x.data[1:]).tolist() == [0, 2, 4, 6]


def test_failed_op_leaves_the_trace_unchanged() -> None:
    def f(x: engine.Tensor, fails: bool) -> engine.Tensor:
        if fails:
            with pytest.raises(ShapeError):
                engine.add(x, engine.ones(7), alpha=3.0)
        return x * 2.0 + 1.5

    compiled, x = CompiledFunction(f), engine.ones(3)
    for fails in (True, False, False, True, True, False):
        assert compiled(x, fails).tolist() == [3.5, 3.5, 3.5]


def test_filling_keeps_the_dtype() -> None:
    def f() -> tuple[list[float], Any]:
        x = engine.ones(3) * 2
        x.fill_(0.1)
        x.mul_(3)
        return x.tolist(), x.dtype

    eager, compiled = calls(f)
    assert eager == compiled


def test_numpy_shares_memory_through_another_tensor() -> None:
    def f() -> list[list[float]]:
        x = engine.ones(3) * 1
        array = x.data.numpy()
        y = x * 2
        array += 1
        return [y.tolist(), (x * 2).tolist()]

    eager, compiled = calls(f)
    assert eager == compiled == [[[2, 2, 2], [4, 4, 4]]] * 3


def test_numpy_operand_changes_after_use() -> None:
    def f() -> list[float]:
        array = np.ones(3, np.float32)
        y = engine.ones(3) * array
        array += 1
        return (y + array).tolist()

    eager, compiled = calls(f)
    assert eager == compiled == [[3, 3, 3]] * 3


def test_write_to_an_expanded_tensor() -> None:
    rows, cube = engine.arange(3.0).view(3, 1), engine.arange(24.0).view(2, 3, 4)

    def f() -> list[engine.Tensor]:
        total = (cube * 2).sum(1).unsqueeze(1).expand(2, 3, 4)
        return [(rows * 2).expand(3, 4), total, total + cube, cube.mean().expand(2, 2)]

    with waiting():
        eager, compiled = calls(f, 2)
    for one, two in zip(eager, compiled, strict=True):
        assert [tensor.tolist() for tensor in one] == [tensor.tolist() for tensor in two]


def test_fill_on_several_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.module(devices=2))

    def f(shared: bool) -> list[Any]:
        found = []
        for device in ("cpu", "cpu", "cuda:1"):
            made = engine.ones(2, device=device) * 2
            found.append(made if shared else type(made._numbers()))
        return [type(one._numbers()) for one in found] if shared else found

    for shared in (False, True):  # several recordings from one line, or one
        eager, compiled = calls(lambda shared=shared: f(shared))
        assert eager == compiled == [[np.ndarray, np.ndarray, fake_cupy.ndarray]] * 3


def test_compiled_function_called_during_a_kernel() -> None:
    x = engine.ones(2)
    compiled = CompiledFunction(lambda: x * 1e38 * 10)
    for _ in range(3):
        assert MODES.call_silently(lambda: compiled().tolist()) == [np.inf, np.inf]


def test_sum_of_an_expanded_tensor() -> None:
    x = engine.arange(3.0)

    def f() -> list[engine.Tensor]:
        wide = (x * 2).view(3, 1).expand(3, 4)
        return [wide.sum(1), wide.sum(), wide.mean(), wide.prod(1), (wide + 1).sum(1), wide.permute(1, 0).sum(0)]

    with waiting():
        eager, compiled = calls(f, 2)
    for one, two in zip(eager, compiled, strict=True):
        assert [tensor.tolist() for tensor in one] == [tensor.tolist() for tensor in two]


def test_exact_mode_undoes_writes_through_views() -> None:
    outside = engine.zeros(4)

    def f(x: engine.Tensor) -> engine.Tensor:
        y = x * 2
        y[1:].add_(1)
        outside[:2].add_(y[:2])
        return y + outside

    eager, compiled = [f(engine.ones(4)).tolist() for _ in range(3)], CompiledFunction(f, exact=True)
    outside.zero_()
    assert [compiled(engine.ones(4)).tolist() for _ in range(3)] == eager


def test_operands_are_checked_and_converted_as_in_eager_mode() -> None:
    def f() -> list[Any]:
        x = engine.ones(2)
        found = [(x * np.float64(2)).dtype, (engine.ones(2, device="meta") + engine.tensor(1.0)).shape]
        with pytest.raises(TypeError):
            engine.matmul(x, 2)
        return found

    eager, compiled = calls(f)
    assert eager == compiled
