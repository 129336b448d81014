"""Kernels whose parts several threads compute: the same bits with any number of them, and helpers that come and go."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import engine
from engine.compiler.graph import Value
from engine.compiler.kernels import Kernel, compile, team
from engine.compiler.kernels.library import start_helpers
from engine.compiler.kernels.library.routine import kernel as library_kernel
from engine.compiler.kernels.team import TEAM
from tests.engine.compiler.kernels.groups import Group, check_stand_in

RANDOM = np.random.default_rng(0)


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return RANDOM.normal(size=shape).astype(dtype)


@pytest.fixture(autouse=True)
def many_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever is to be done is divided into as many parts as there may be."""
    monkeypatch.setattr(team, "PART", 1e-9)
    monkeypatch.setattr(team, "LEAST", 0)
    library_kernel("serve", np.dtype(np.float32))
    start_helpers()
    before = TEAM.size
    yield
    TEAM.resize(before)


def elements() -> tuple[Group, tuple[int, ...], list[Value]]:
    group = Group()
    x = group.input(normal(100_003))
    return group, (100_003,), [group.add("exp", group.add("mul", x, 0.25))]


def rows_of_elements() -> tuple[Group, tuple[int, ...], list[Value]]:
    group = Group()
    x, b = group.input(normal(37, 3, 50)), group.input(normal(3, 1))
    return group, (37, 3, 50), [group.add("relu", group.add("add", x, b))]


def softmax() -> tuple[Group, tuple[int, ...], list[Value]]:
    group = Group()
    x = group.input(normal(37, 700))
    powers = group.add("exp", group.add("sub", x, group.add("amax", x, dim=1, keepdim=True)))
    return group, (37, 700), [group.add("div", powers, group.add("sum", powers, dim=1, keepdim=True))]


def sums_over_rows() -> tuple[Group, tuple[int, ...], list[Value]]:
    group = Group()
    x, w = group.input(normal(1000, 65)), group.input(normal(65))
    out = group.add("mul", x, w)
    mean = group.add("mean", out)
    return group, (1000, 65), [out, group.add("mul", group.add("sum", out, dim=0), 2.0), mean, group.add("exp", mean)]


def sums_over_channels() -> tuple[Group, tuple[int, ...], list[Value]]:
    """With two loops over rows."""
    group = Group()
    x, y = group.input(normal(13, 7, 30)), group.input(normal(13, 30, 7).transpose(0, 2, 1))
    return group, (13, 7, 30), [group.add("sum", group.add("mul", x, y), dim=(0, 1))]


def maxima_over_rows() -> tuple[Group, tuple[int, ...], list[Value]]:
    group = Group()
    x = group.input(normal(300, 9, dtype=np.float64))
    return group, (300, 9), [group.add("amax", x, dim=0), group.add("sum", x, dim=0), group.add("amax", x)]


def two_passes() -> tuple[Group, tuple[int, ...], list[Value]]:
    group = Group()
    x = group.input(normal(300, 33))
    centred = group.add("sub", x, group.add("mean", x, dim=0, keepdim=True))
    return group, (300, 33), [centred, group.add("mean", group.add("mul", centred, centred), dim=0)]


CASES = [elements, rows_of_elements, softmax, sums_over_rows, sums_over_channels, maxima_over_rows, two_passes]
DIVIDED = {elements, rows_of_elements, softmax, sums_over_rows, sums_over_channels, two_passes}


def made(case: Callable[[], Any]) -> tuple[Kernel, Group, list[Value]]:
    group, shape, outputs = case()
    fused = group.fused(shape, outputs)
    strides = [tuple(s // a.itemsize for s in a.strides) for a in (group.arrays[value] for value in fused.inputs)]
    return compile(fused, [*strides, *[None] * len(outputs)]), group, outputs


def computed(kernel: Kernel, group: Group, outputs: list[Value]) -> list[Any]:
    found = [np.full(value.shape, 77, value.dtype) for value in outputs]
    kernel([group.arrays[value] for value in kernel.fused.inputs], group.scalars, found)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_bits_are_the_same_with_any_number_of_threads(case: Callable[[], Any]) -> None:
    kernel, group, outputs = made(case)
    inputs = [group.arrays[value] for value in kernel.fused.inputs]
    for threads in (1, 2, 3):
        TEAM.resize(threads)
        before = TEAM.offers
        for _ in range(20):
            check_stand_in(kernel, inputs, group.scalars, computed(kernel, group, outputs))
        assert (TEAM.offers > before) == (threads > 1 and case in DIVIDED)


def test_callers_at_the_same_time_do_not_disturb_each_other() -> None:
    TEAM.resize(3)
    kernels = [made(case) for case in (elements, softmax, sums_over_rows)]
    expected = [[one.tobytes() for one in computed(*one)] for one in kernels]

    def again(number: int) -> bool:
        place = number % len(kernels)
        return [one.tobytes() for one in computed(*kernels[place])] == expected[place]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(again, range(300)))


def test_there_are_as_many_helpers_as_threads_are_asked_for() -> None:
    before = engine.get_num_threads()
    try:
        for threads in (3, 1, 2):
            engine.set_num_threads(threads)
            assert TEAM.size == threads
    finally:
        engine.set_num_threads(before)


PROGRAM = """
import os, sys
import numpy as np
from tests.engine.compiler.kernels import test_team as t
t.team.PART, t.team.LEAST = 1e-9, 0
t.library_kernel("serve", np.dtype(np.float32))
t.start_helpers()
t.TEAM.resize(3)
one = t.made(t.elements)
expected = t.computed(*one)[0].tobytes()
{}
"""
FORK = """
for _ in range(5):
    child = os.fork()
    if child == 0:
        assert t.TEAM.size == 1
        same = t.computed(*one)[0].tobytes() == expected
        t.start_helpers()
        t.TEAM.resize(2)
        os._exit(0 if same and t.computed(*one)[0].tobytes() == expected else 3)
    assert os.waitpid(child, 0)[1] == 0
assert t.computed(*one)[0].tobytes() == expected
"""


@pytest.mark.parametrize(
    "program", ["", *([FORK] if hasattr(os, "fork") else [])], ids=["ends", "forks"][: 1 + hasattr(os, "fork")]
)
def test_a_process_with_helpers(program: str) -> None:
    """It ends, and its children have none until they ask for some."""
    subprocess.run([sys.executable, "-c", PROGRAM.format(program)], check=True, timeout=300)
