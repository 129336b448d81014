"""Ctrl+C in a compiled step: the step is applied whole or not at all, and training goes on to the same numbers.

`GRADWIRE_INTERRUPTIONS=300 pytest -n0 -s` interrupts each kind of step at some 300 points, and prints their number.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import engine
from engine.compiler.capture import Capture
from engine.compiler.compiled_function import CompiledFunction
from engine.modes import MODES
from tests.engine.compiler.interruptions import BREAKING, MODELS, TRAININGS, Interrupter, Training, train, training

MOST = int(os.environ.get("GRADWIRE_INTERRUPTIONS", "0"))
VARIANTS: dict[str, Callable[[Any], CompiledFunction]] = {
    "default": CompiledFunction,
    "fullgraph": lambda function: CompiledFunction(function, fullgraph=True),
    "exact": lambda function: CompiledFunction(function, exact=True),
    "replayed": lambda function: CompiledFunction(function, exact=True, replay_classes=MODELS),
}
FEW = {("mlp", "default"): 24, ("cnn", "fullgraph"): 12, ("gpt", "default"): 5, ("mlp", "replayed"): 60,
       ("cnn", "replayed"): 50, ("lstm", "replayed"): 50}  # fmt: skip
"""Number of interruptions in the gate, by model and variant."""
KINDS = (
    [(name, variant, MOST) for name in TRAININGS for variant in VARIANTS]
    if MOST
    else [(*kind, FEW[kind]) for kind in FEW]
)
State = dict[str, Any]


def run_step(step: Callable[..., Any], training: Training, number: int) -> None:
    step(training.model, training.optimizer, *training.batches[number % len(training.batches)])


def count_interruption_points(step: Callable[..., Any], training: Training, number: int) -> int:
    """Runs a step. Returns the number of points where it can be interrupted."""
    counter = Interrupter()
    assert not counter.call(lambda: run_step(step, training, number))
    return counter.count


def interruption_points(count: int, limit: int) -> range:
    """Returns at most about `limit` evenly spaced points."""
    found = range(0, count, -(-count // limit))
    assert len(found) > min(count, limit) // 2
    sys.stdout.write(f"{len(found)} interruptions at {count} points\n")
    return found


@pytest.mark.parametrize(("name", "variant", "limit"), KINDS, ids=str)
def test_interrupted_known_step_has_no_partial_effect(name: str, variant: str, limit: int) -> None:
    apart, steps, expected = training(name), 2 * limit + 16, list[State]()
    step = VARIANTS[variant](train)
    for number in range(steps):
        expected.append(apart.state())
        run_step(step, apart, number)
        engine.compiler.wait()
    mine, number, found = training(name), 5, set[int]()
    step = VARIANTS[variant](train)
    for before in range(number):
        run_step(step, mine, before)
    count = count_interruption_points(step, mine, number)
    assert (step.replayed is not None) == (variant == "replayed")
    number += 1
    for point in interruption_points(count, limit):
        was_interrupted = Interrupter(point).call(lambda number=number: run_step(step, mine, number))
        state = mine.state()
        is_taken = state != expected[number]
        if is_taken:
            assert state == expected[number + 1], f"torn by an interruption at point {point} of {count}"
        assert was_interrupted or is_taken
        found.add(is_taken)
        number += is_taken
        run_step(step, mine, number)
        number += 1
        assert mine.state() == expected[number], f"the step after an interruption at point {point} of {count}"
    assert False in found


@pytest.mark.parametrize("variant", ["default", "exact"])
def test_interrupted_recording_has_no_partial_effect(variant: str) -> None:
    """The next call records what is left of it, or takes the plan."""

    def after(number: int) -> State:
        again = training("mlp")
        for before in range(number):
            run_step(VARIANTS[variant](train), again, before)
        return again.state()

    limit = max(6, MOST // 3)
    mine, expected = training("mlp"), [after(0), after(1), after(2)]
    count = count_interruption_points(VARIANTS[variant](train), mine, 0)
    for point in interruption_points(count, limit):
        mine = training("mlp")
        step = VARIANTS[variant](train)
        was_interrupted = Interrupter(point).call(lambda step=step, mine=mine: run_step(step, mine, 0))
        state = mine.state()
        number = int(state != expected[0])
        assert state == expected[number], f"torn by an interruption at point {point} of {count}"
        assert was_interrupted or number == 1
        run_step(step, mine, number)
        state = mine.state()
        if variant == "exact":
            assert state == expected[number + 1], f"the step after an interruption at point {point} of {count}"
        assert state["steps"] == number + 1
        assert state["generator"] == expected[number + 1]["generator"]


@pytest.mark.parametrize("name", BREAKING)
def test_interrupted_step_returns_to_the_last_graph_break(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its counts: what a search has found, how far a scaler is."""

    def known() -> tuple[CompiledFunction, Training]:
        found = training(name)
        step = CompiledFunction(found.train, exact=True)
        for number in range(3):
            run_step(step, found, number)
        return step, found

    count, (step, mine) = count_interruption_points(*known(), 3), known()
    sound = [mine.state()]
    finish = Capture.finish

    def finished(capture: Capture, *args: Any) -> None:
        finish(capture, *args)
        MODES.capture = None
        sound.append(mine.state())
        MODES.capture = capture

    with monkeypatch.context() as patch:
        patch.setattr(Capture, "finish", finished)
        run_step(step, mine, 3)
    sound.append(mine.state())
    for point in interruption_points(count, MOST or 14):
        step, mine = known()
        Interrupter(point).call(lambda step=step, mine=mine: run_step(step, mine, 3))
        assert mine.state() in sound, f"torn by an interruption at point {point} of {count}"
        run_step(step, mine, 4)


SIGNALS = """
import random, signal, sys, time
import engine
from tests.engine.compiler.interruptions import train, training
from tests.engine.compiler.test_interruptions import VARIANTS, run_step

name, variant, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
handler = signal.getsignal(signal.SIGINT)
signal.signal(signal.SIGALRM, handler)
apart, expected = training(name), []
step = VARIANTS[variant](train)
for number in range(12 * limit + 20):
    expected.append(apart.state())
    run_step(step, apart, number)
    engine.compiler.wait()
mine, number = training(name), 5
step = VARIANTS[variant](train)
for before in range(number):
    run_step(step, mine, before)
chance, interrupted = random.Random(0), 0
while interrupted < limit and number + 2 < len(expected):
    began = time.perf_counter()
    run_step(step, mine, number)
    span = time.perf_counter() - began
    number += 1
    assert mine.state() == expected[number], f"the step after interruption {interrupted}"
    is_over = False
    try:
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, span))
        run_step(step, mine, number)
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupted += not is_over
    state = mine.state()
    number += state != expected[number]
    assert state == expected[number], f"torn by interruption {interrupted}"
run_step(step, mine, number)
assert mine.state() == expected[number + 1], "the step after the last interruption"
assert signal.getsignal(signal.SIGINT) is handler
print(interrupted)
"""
"""The system's timer sends a signal while a step is taken, to the handler of Ctrl+C: a thread would wait for the
interpreter's lock, and be late. How long a step takes is measured just before each, as it depends on the load."""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("variant", ["default", "replayed"])
def test_signals_leave_no_partial_step(variant: str) -> None:
    limit = max(8, MOST)
    command = [sys.executable, "-c", SIGNALS, "mlp", variant, str(limit)]
    done = subprocess.run(command, check=True, timeout=600, stdout=subprocess.PIPE, text=True)
    assert int(done.stdout) == limit
