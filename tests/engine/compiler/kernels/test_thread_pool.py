"""Kernels whose parts several threads compute: the same bits with any number of them, and helpers that come and go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.compiler.ir import IRValue
from engine.compiler.kernels import CpuKernel, compile, thread_pool
from engine.compiler.kernels.library import start_thread_pool
from engine.compiler.kernels.library.routines import library_kernel
from engine.compiler.kernels.thread_pool import THREAD_POOL
from tests.engine.compiler.kernels.groups import Group, check_reference

RANDOM = np.random.default_rng(0)


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return RANDOM.normal(size=shape).astype(dtype)


@pytest.fixture(autouse=True)
def many_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever is to be done is divided into as many parts as there may be."""
    monkeypatch.setattr(thread_pool, "MIN_PART_NANOSECONDS", 1e-9)
    monkeypatch.setattr(thread_pool, "MIN_PARALLEL_NANOSECONDS", 0)
    library_kernel("serve_pool", np.dtype(np.float32))
    start_thread_pool()
    before = THREAD_POOL.size
    yield
    THREAD_POOL.resize(before)


def elements() -> tuple[Group, tuple[int, ...], list[IRValue]]:
    group = Group()
    x = group.input(normal(100_003))
    return group, (100_003,), [group.add("exp", group.add("mul", x, 0.25))]


def rows_of_elements() -> tuple[Group, tuple[int, ...], list[IRValue]]:
    group = Group()
    x, b = group.input(normal(37, 3, 50)), group.input(normal(3, 1))
    return group, (37, 3, 50), [group.add("relu", group.add("add", x, b))]


def softmax() -> tuple[Group, tuple[int, ...], list[IRValue]]:
    group = Group()
    x = group.input(normal(37, 700))
    powers = group.add("exp", group.add("sub", x, group.add("amax", x, dim=1, keepdim=True)))
    return group, (37, 700), [group.add("div", powers, group.add("sum", powers, dim=1, keepdim=True))]


def sums_over_rows() -> tuple[Group, tuple[int, ...], list[IRValue]]:
    group = Group()
    x, w = group.input(normal(1000, 65)), group.input(normal(65))
    out = group.add("mul", x, w)
    mean = group.add("mean", out)
    return group, (1000, 65), [out, group.add("mul", group.add("sum", out, dim=0), 2.0), mean, group.add("exp", mean)]


def sums_over_channels() -> tuple[Group, tuple[int, ...], list[IRValue]]:
    """With two loops over rows."""
    group = Group()
    x, y = group.input(normal(13, 7, 30)), group.input(normal(13, 30, 7).transpose(0, 2, 1))
    return group, (13, 7, 30), [group.add("sum", group.add("mul", x, y), dim=(0, 1))]


def maxima_over_rows() -> tuple[Group, tuple[int, ...], list[IRValue]]:
    group = Group()
    x = group.input(normal(300, 9, dtype=np.float64))
    return group, (300, 9), [group.add("amax", x, dim=0), group.add("sum", x, dim=0), group.add("amax", x)]


def two_passes() -> tuple[Group, tuple[int, ...], list[IRValue]]:
    group = Group()
    x = group.input(normal(300, 33))
    centered = group.add("sub", x, group.add("mean", x, dim=0, keepdim=True))
    return group, (300, 33), [centered, group.add("mean", group.add("mul", centered, centered), dim=0)]


CASES = [elements, rows_of_elements, softmax, sums_over_rows, sums_over_channels, maxima_over_rows, two_passes]
DIVIDED = {elements, rows_of_elements, softmax, sums_over_rows, sums_over_channels, two_passes}


def made(case: Callable[[], Any]) -> tuple[CpuKernel, Group, list[IRValue]]:
    group, shape, outputs = case()
    fused = group.fused(shape, outputs)
    strides = [tuple(s // a.itemsize for s in a.strides) for a in (group.arrays[value] for value in fused.inputs)]
    return compile(fused, [*strides, *[None] * len(outputs)]), group, outputs


def computed(kernel: CpuKernel, group: Group, outputs: list[IRValue]) -> list[Any]:
    found = [np.full(value.shape, 77, value.dtype) for value in outputs]
    kernel([group.arrays[value] for value in kernel.fused.inputs], group.scalars, found)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_bits_do_not_depend_on_thread_count(case: Callable[[], Any]) -> None:
    kernel, group, outputs = made(case)
    inputs = [group.arrays[value] for value in kernel.fused.inputs]
    for threads in (1, 2, 3):
        THREAD_POOL.resize(threads)
        before = THREAD_POOL.offers
        for _ in range(20):
            check_reference(kernel, inputs, group.scalars, computed(kernel, group, outputs))
        assert (THREAD_POOL.offers > before) == (threads > 1 and case in DIVIDED)


def test_simultaneous_callers_get_correct_results() -> None:
    THREAD_POOL.resize(3)
    kernels = [made(case) for case in (elements, softmax, sums_over_rows)]
    expected = [[one.tobytes() for one in computed(*one)] for one in kernels]

    def again(number: int) -> bool:
        index = number % len(kernels)
        return [one.tobytes() for one in computed(*kernels[index])] == expected[index]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(again, range(300)))


def test_pool_size_follows_set_num_threads() -> None:
    before = engine.get_num_threads()
    try:
        for threads in (3, 1, 2):
            engine.set_num_threads(threads)
            assert THREAD_POOL.size == threads
    finally:
        engine.set_num_threads(before)


PROGRAM = """
import os, sys
import numpy as np
from tests.engine.compiler.kernels import test_thread_pool as t
t.thread_pool.MIN_PART_NANOSECONDS, t.thread_pool.MIN_PARALLEL_NANOSECONDS = 1e-9, 0
t.library_kernel("serve_pool", np.dtype(np.float32))
t.start_thread_pool()
t.THREAD_POOL.resize(3)
one = t.made(t.elements)
expected = t.computed(*one)[0].tobytes()
{}
"""
FORK = """
for _ in range(5):
    child = os.fork()
    if child == 0:
        assert t.THREAD_POOL.size == 1
        same = t.computed(*one)[0].tobytes() == expected
        t.start_thread_pool()
        t.THREAD_POOL.resize(2)
        os._exit(0 if same and t.computed(*one)[0].tobytes() == expected else 3)
    assert os.waitpid(child, 0)[1] == 0
assert t.computed(*one)[0].tobytes() == expected
"""


@pytest.mark.parametrize(
    "program", ["", *([FORK] if hasattr(os, "fork") else [])], ids=["ends", "forks"][: 1 + hasattr(os, "fork")]
)
def test_process_with_worker_threads_forks_and_exits(program: str) -> None:
    """The process ends, and forked children have no workers until they start the pool."""
    subprocess.run([sys.executable, "-c", PROGRAM.format(program)], check=True, timeout=300)


REFUSED = """
import hashlib, sys, threading, warnings
import numpy as np
import engine
from engine import nn
from engine.compiler.kernels.thread_pool import THREAD_POOL

def refuse(thread):
    raise RuntimeError("can't start new thread")

if sys.argv[1] == "refuse":
    threading.Thread.start = refuse
engine.manual_seed(0)
model = nn.Linear(64, 8)
optimizer = engine.optim.SGD(model.parameters(), 0.1)

@engine.compile
def step(x):
    optimizer.zero_grad()
    loss = model(x).tanh().square().mean()
    loss.backward()
    optimizer.step()
    return loss

x = engine.randn(4000, 64)
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    for _ in range(3):
        step(x)
        engine.compiler.wait()
digest = hashlib.sha256(b"".join(one.detach().numpy().tobytes() for one in model.parameters())).hexdigest()
print(digest, THREAD_POOL.size, [str(one.message) for one in warned], flush=True)
while sys.argv[1] == "refuse":
    step(x)
"""


def test_kernels_run_on_one_thread_if_no_thread_starts(tmp_path: Path) -> None:
    """And SIGTERM ends the process that runs them."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", REFUSED, how],
            env={**os.environ, "GRADWIRE_KERNELS": str(tmp_path / how), "OPENBLAS_NUM_THREADS": "2"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for how in ("refuse", "start")
    ]
    timers = [threading.Timer(120, one.kill) for one in started]
    try:
        for timer in timers:
            timer.start()
        refused, helped = (one.stdout.readline().split(maxsplit=2) for one in started if one.stdout is not None)
        assert helped[0] == refused[0]
        assert helped[1:] == ["2", "[]\n"]
        assert refused[1] == "1"
        assert refused[2].count("Kernels run on 1 thread, because the system refused to start more") == 1
        assert started[1].wait(30) == 0
        started[0].terminate()
        assert started[0].wait(30) == (-signal.SIGTERM if os.name == "posix" else 1)
    finally:
        for process, timer in zip(started, timers, strict=True):
            timer.cancel()
            process.kill()
            process.communicate()
