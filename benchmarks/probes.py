"""What measuring all tensors costs: throughput of compiled sessions with and without `probe_steps`.

python benchmarks/probes.py                     five templates
python benchmarks/probes.py --only digits-mlp   one of them; repeatable
python benchmarks/probes.py --seconds 60        per template
python benchmarks/probes.py --interval 20       steps between measurements
python benchmarks/probes.py --threads 1         threads of kernels (default: all cores)

A run measures in every second block of steps, after the kernels of training and measuring are compiled: comparing two
runs would show how much else the machine does. Times are medians, in CPU time of the training thread; use one thread
for kernels to count them. Measuring costs the time of its calls. The change of training steps beside it, as by emptied
caches, differs by several percent from run to run, also without measuring: use many minutes.
"""

from __future__ import annotations

import argparse
import statistics
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
from studio.training.statistics.run_measurement import RunMeasurement
from studio.training.statistics.step_measurement import GRADIENT_INTERVAL, MAX_GRADIENT_STEPS, StepMeasurer

TEMPLATES = ("digits-mlp", "digits-cnn", "digits-vit", "shakespeare-lstm", "digits-gan")
WARM_UP = 41
"""Steps in which kernels are compiled: both functions have been called three times."""


class Clock:
    """CPU times since the warm-up, in seconds.

    Args:
        begin: the first step after the warm-up
        size: steps of a block, in which measuring is on or off
    """

    def __init__(self, begin: int, size: int) -> None:
        self.begin, self.size = begin, size
        self.is_running = False
        self.parts: dict[str, list[float]] = {}
        """Times of single calls by what they do."""
        self.measuring = 0.0
        """Time that measuring and its timing took since the last step."""
        self.last = 0.0
        """Thread time at the end of the last step."""
        self._overhead = min(self._time_of_nothing() for _ in range(1000))

    def timed(self, function: Callable[..., Any], name: Callable[..., str]) -> Callable[..., Any]:
        """A function whose times are noted under the name that `name` returns for its arguments."""

        def timed(*arguments: Any) -> Any:
            part, began = name(*arguments), time.thread_time()
            try:
                return function(*arguments)
            finally:
                spent = time.thread_time() - began
                self.measuring += spent + self._overhead
                if self.is_running and part:
                    self.parts.setdefault(part, []).append(spent - self._overhead)

        return timed

    def measures(self, step: int) -> bool:
        """Whether measuring is on at a step; in the warm-up it is."""
        return step < self.begin or (step - self.begin) // self.size % 4 in (0, 3)

    def end_step(self, step: int) -> None:
        """Note the CPU time of a training step without measuring."""
        if self.is_running:
            part = "train measured" if self.measures(step) else "train"
            self.parts.setdefault(part, []).append(time.thread_time() - self.last - self.measuring - self._overhead)
        self.skip()

    def skip(self) -> None:
        """Leave out the time since the last event, such as validation."""
        self.last, self.measuring = time.thread_time(), 0.0

    def milliseconds(self, part: str) -> float:
        """Median of a part; 0 if it never ran."""
        return 1000 * statistics.median(self.parts.get(part, [0.0]))

    @staticmethod
    def _time_of_nothing() -> float:
        began = time.thread_time()
        return time.thread_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="run this template; repeatable")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds per template")
    parser.add_argument("--interval", type=int, default=20, help="steps between measurements")
    parser.add_argument("--threads", type=int, help="threads of kernels")
    options = parser.parse_args()
    if options.threads is not None:
        engine.set_num_threads(options.threads)
    for key in options.only or TEMPLATES:
        print(measure(key, options.interval, options.seconds), flush=True)


def measure(key: str, interval: int, seconds: float) -> str:
    """Train a template, and describe the cost of measuring."""
    warm_up = max(WARM_UP, 2 * interval * gradient_interval(interval))
    clock = Clock(warm_up + interval // 2, interval)
    with tempfile.TemporaryDirectory() as folder:
        session = TrainingSession(
            template(key).document,
            catalogue(),
            out=Path(folder) / "run",
            steps=10**9,
            probe_steps=interval,
            inspects_data=False,
        )
        undo = instrument(clock)
        try:
            session.start()
            wait(session, clock, seconds)
            clock.is_running = False
            session.stop()
            session.join(60)
        finally:
            undo()
    return describe(key, interval, clock)


def describe(key: str, interval: int, clock: Clock) -> str:
    train, measured, outputs, gradients, after, report = map(
        clock.milliseconds, ("train", "train measured", "outputs", "gradients", "after", "report")
    )
    count = gradient_interval(interval)
    calls = (outputs * (count - 1) + gradients) / count + after + report
    share, change = calls / interval / train, measured / train - 1
    return (
        f"{key:18} {len(clock.parts['train']):6,} steps of {train:.2f} ms; measuring: outputs {outputs:.3f} ms, "
        f"with gradients {gradients:.3f} ms, after the step {after + report:.3f} ms: {share:.2%} of the training time; "
        f"training steps beside it {change:+.2%}"
    )


def gradient_interval(interval: int) -> int:
    """Number of measured steps per step with gradients."""
    return max(1, min(GRADIENT_INTERVAL, MAX_GRADIENT_STEPS // interval))


def instrument(clock: Clock) -> Callable[[], None]:
    """Time what measures, and switch it on and off. Returns what undoes it."""
    advance, is_due = Training.__next__, StepMeasurer.is_due

    def following(self: Training) -> fit.TrainingEvent:
        event = advance(self)
        if isinstance(event, fit.Step):
            is_warm = event.step == clock.begin - 1
            if is_warm:
                for function in (self.task.step, *compiled_functions(self)):
                    for plan in [] if function is None else function.plans:
                        plan.wait()
            clock.end_step(event.step)
            clock.is_running |= is_warm
        else:
            clock.skip()
        return event

    def before(measurer: StepMeasurer, batch: Any, step: int) -> str:
        if not measurer.is_due(step):
            return ""
        return "gradients" if measurer._has_gradients(step) else "outputs"

    replaced: list[tuple[Any, str, Any]] = [
        (StepMeasurer, "is_due", lambda measurer, step: clock.measures(step) and is_due(measurer, step)),
        (StepMeasurer, "before_step", clock.timed(StepMeasurer.before_step, before)),
        (StepMeasurer, "after_step", clock.timed(StepMeasurer.after_step, lambda one: "after" if one._pending else "")),
        (
            RunMeasurement,
            "report",
            clock.timed(RunMeasurement.report, lambda one: "report" if one.measurer._found else ""),
        ),
        (Training, "__next__", following),
    ]
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in replaced]

    def put(entries: list[tuple[Any, str, Any]]) -> None:
        for owner, name, value in entries:
            setattr(owner, name, value)

    put(replaced)
    return lambda: put(kept)


def compiled_functions(training: Training) -> list[Any]:
    """The functions that measure a training."""
    measurer: Any = training._probe
    functions = measurer._functions
    return [each for each in (functions.outputs, functions.gradients) if hasattr(each, "plans")]


def wait(session: TrainingSession, clock: Clock, seconds: float) -> None:
    """Let a session train for some seconds after the warm-up."""
    began: float | None = None
    while not session.is_over:
        session.events(0.05)
        if clock.is_running and began is None:
            began = time.perf_counter()
        if began is not None and time.perf_counter() - began > seconds:
            return
    raise RuntimeError("the training ended")


if __name__ == "__main__":
    main()
