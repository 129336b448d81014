"""Random programs do under compile what they do without: numbers, memory, histories, errors, generators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine.compiler import Compiled
from engine.errors import ShapeError
from tests.engine.compiler.worlds import Step, World, history, same, steps


def run(world: World, program: Sequence[Step]) -> list[Any]:
    return world.run(program)


def compare(program: Sequence[Step], backend: str = "inductor") -> None:
    wanted = history(program, run)
    for ours, eager in zip(history(program, Compiled(run, backend=backend)), wanted, strict=True):
        same(ours, eager)


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=300)
@given(st.lists(steps(), min_size=1, max_size=14))
def test_a_program_does_what_it_does_in_eager_mode(program: list[Step]) -> None:
    compare(program)


def calls(function: Any, count: int = 3) -> tuple[list[Any], list[Any]]:
    """What calls of a function give, eager and compiled; `function` makes what it works on anew in each."""
    compiled = Compiled(function)
    return [function() for _ in range(count)], [compiled() for _ in range(count)]


def test_a_view_from_outside_is_written_to_before_its_base_is_read() -> None:
    def f() -> list[float]:
        base = engine.arange(4.0)
        part = base[1:]

        def inner() -> engine.Tensor:
            part.mul_(2)
            return base * 1

        return compiled(inner).tolist()

    compiled = Compiled(lambda function: function())
    assert [f() for _ in range(3)] == [[0, 2, 4, 6]] * 3


def test_memory_that_two_tensors_share_without_knowing_it() -> None:
    def f(x: engine.Tensor, part: engine.Tensor) -> engine.Tensor:
        part.mul_(2)
        return x * 1

    compiled = Compiled(f)
    for _ in range(3):
        x = engine.arange(4.0)
        assert compiled(x, x.data[1:]).tolist() == [0, 2, 4, 6]


def test_a_call_that_fails_leaves_no_trace_in_the_recording() -> None:
    def f(x: engine.Tensor, fails: bool) -> engine.Tensor:
        if fails:
            with pytest.raises(ShapeError):
                engine.add(x, engine.ones(7), alpha=3.0)
        return x * 2.0 + 1.5

    compiled, x = Compiled(f), engine.ones(3)
    for fails in (True, False, False, True, True, False):
        assert compiled(x, fails).tolist() == [3.5, 3.5, 3.5]


def test_filling_keeps_the_dtype() -> None:
    def f() -> tuple[list[float], engine.DType]:
        x = engine.ones(3) * 2
        x.fill_(0.1)
        x.mul_(3)
        return x.tolist(), x.dtype

    eager, compiled = calls(f)
    assert eager == compiled


def test_numpy_holds_memory_through_another_tensor_over_it() -> None:
    def f() -> list[list[float]]:
        x = engine.ones(3) * 1
        array = x.data.numpy()
        y = x * 2
        array += 1
        return [y.tolist(), (x * 2).tolist()]

    eager, compiled = calls(f)
    assert eager == compiled == [[[2, 2, 2], [4, 4, 4]]] * 3


def test_an_operand_of_numpy_changes_after_its_use() -> None:
    def f() -> list[float]:
        array = np.ones(3, np.float32)
        y = engine.ones(3) * array
        array += 1
        return (y + array).tolist()

    eager, compiled = calls(f)
    assert eager == compiled == [[3, 3, 3]] * 3
