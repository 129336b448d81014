"""Share of the training time that measuring all tensors takes: sessions with `probe_steps` of 20 and 0, compiled.

python benchmarks/probes.py                     five templates
python benchmarks/probes.py --only digits-mlp   one of them; repeatable
python benchmarks/probes.py --seconds 30        seconds of training per template
python benchmarks/probes.py --interval 20       steps between measurements
python benchmarks/probes.py --threads 1         threads of kernels (default: all cores)

Training and measuring are timed in one run, after the kernels of both are compiled: comparing two runs would show how
much else the machine does. All that the training thread does to measure counts. CPU time is that of the training
thread; use one thread for kernels to count them. `off` is a run without measuring.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import engine
from engine import fit
from engine.fit.training_loop import Training
from studio.document.files.project_templates import template
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession
from studio.training.statistics.statistics_format import STATISTICS_FILE
from studio.training.statistics.step_measurement import StepMeasurer

TEMPLATES = ("digits-mlp", "digits-cnn", "digits-vit", "shakespeare-lstm", "digits-gan")
WARM_UP = 41
"""Steps in which kernels are compiled: both functions have been called three times."""


class Clock:
    """Wall and CPU seconds of a group of functions, and those since the warm-up."""

    def __init__(self) -> None:
        self.spent = [0.0, 0.0]
        self.count = 0
        self.begun: tuple[float, float, int] | None = None
        self.depth = 0
        self.cpu = 0.0
        """CPU seconds of the training thread."""

    def timed(self, function: Callable[..., Any], *, counts: bool = False) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            if self.depth:
                return function(*arguments, **named)
            self.depth, wall, cpu = 1, time.perf_counter(), time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                self.depth = 0
                self.spent[0] += time.perf_counter() - wall
                self.spent[1] += time.thread_time() - cpu
                self.count += counts

        return timed

    def begin(self, step: int) -> None:
        self.spent[:], self.count = [0.0, 0.0], 0
        self.begun = time.perf_counter(), time.thread_time(), step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="run this template; repeatable")
    parser.add_argument("--seconds", type=float, default=15.0, help="seconds per template and interval")
    parser.add_argument("--interval", type=int, default=20, help="steps between measurements")
    parser.add_argument("--threads", type=int, help="threads of kernels")
    options = parser.parse_args()
    if options.threads is not None:
        engine.set_num_threads(options.threads)
    for key in options.only or TEMPLATES:
        for interval in (options.interval, 0):
            print(measure(key, interval, options.seconds), flush=True)


def measure(key: str, interval: int, seconds: float) -> str:
    """Train a template, and describe the cost of measuring."""
    clock, document = Clock(), template(key).document
    warm_up = max(WARM_UP, 4 * interval + 1, 20 * interval + 1 if interval else 0)
    with tempfile.TemporaryDirectory() as folder:
        session = TrainingSession(
            document, catalogue(), out=Path(folder) / "run", steps=10**9, probe_steps=interval, inspects_data=False
        )
        before = instrument(session, clock, warm_up)
        try:
            session.start()
            last = wait(session, clock, seconds)
            assert clock.begun is not None
            began, cpu, first = clock.begun
            wall, used = time.perf_counter() - began, clock.cpu - cpu
            spent, count = tuple(clock.spent), clock.count
            session.stop()
            session.join(60)
        finally:
            before()
        path = Path(folder) / "run" / STATISTICS_FILE
        size = path.stat().st_size if path.exists() else 0
    name = f"every {interval}" if interval else "off"
    steps = last - first
    return (
        f"{key:18} {name:9} {steps:7,} steps, {count:5,} measured, {spent[0] / (wall - spent[0]):.2%} of the time, "
        f"{spent[1] / (used - spent[1]):.2%} of the CPU time, {size / 1000:,.0f} kB"
    )


def instrument(session: TrainingSession, clock: Clock, warm_up: int) -> Callable[[], None]:
    """Time what measures, and note the end of the warm-up. Returns what undoes it."""
    kept = [
        (StepMeasurer, "before_step", StepMeasurer.before_step),
        (StepMeasurer, "after_step", StepMeasurer.after_step),
        (TrainingSession, "_emit_measured", TrainingSession._emit_measured),
        (Training, "__next__", Training.__next__),
    ]
    StepMeasurer.before_step = clock.timed(StepMeasurer.before_step)  # type: ignore[method-assign]
    StepMeasurer.after_step = clock.timed(StepMeasurer.after_step)  # type: ignore[method-assign]
    emit = TrainingSession._emit_measured

    def emit_measured(self: TrainingSession, measurer: StepMeasurer) -> None:
        clock.count += bool(measurer._found)
        emit(self, measurer)

    TrainingSession._emit_measured = clock.timed(emit_measured)  # type: ignore[method-assign]
    advance = Training.__next__

    def following(self: Training) -> fit.TrainingEvent:
        event = advance(self)
        if isinstance(event, fit.Step) and event.step == warm_up:
            for function in (self.task.step, *compiled_functions(self)):
                for plan in [] if function is None else function.plans:
                    plan.wait()
            clock.begin(event.step)
        clock.cpu = time.thread_time()
        return event

    Training.__next__ = following  # type: ignore[method-assign]

    def undo() -> None:
        for owner, name, value in kept:
            setattr(owner, name, value)

    return undo


def compiled_functions(training: Training) -> list[Any]:
    """The functions that measure a training."""
    measurer: Any = training._probe
    found = (
        [] if measurer is None else [getattr(measurer._functions, name) for name in ("outputs", "gradients", "updates")]
    )
    return [each for each in found if hasattr(each, "plans")]


def wait(session: TrainingSession, clock: Clock, seconds: float) -> int:
    """Let a session train for some seconds after the warm-up. Returns its step."""
    while not session.is_over:
        session.events(0.05)
        if clock.begun is not None and time.perf_counter() - clock.begun[0] > seconds:
            break
    assert not session.is_over, "the training ended"
    return session.steps


if __name__ == "__main__":
    main()
