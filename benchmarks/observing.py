"""Share of the training time that observations of layers take: `engine.fit.fit(observe=True)`, compiled.

python benchmarks/observing.py                     five templates
python benchmarks/observing.py --only digits-mlp   one of them; repeatable
python benchmarks/observing.py --seconds 30        seconds of training per template

Training and observations are timed in one run, after ten steps in which kernels are recorded: comparing two runs would
show how much else the machine does. CPU time counts the threads of all libraries.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine import fit
from engine.fit.observation import Observer
from studio.document.files.project_templates import template
from studio.lowering import check, lower
from studio.nodes import catalogue

TEMPLATES = ("digits-mlp", "digits-cnn", "digits-vit", "shakespeare-lstm", "digits-gan")
WARM_UP = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="run this template; repeatable")
    parser.add_argument("--seconds", type=float, default=15.0, help="seconds per template")
    options = parser.parse_args()
    for key in options.only or TEMPLATES:
        measure(key, options.seconds)


def measure(key: str, seconds: float) -> None:
    task = lower(check(template(key).document, catalogue())).build(seed=0)
    spent = _timed_observations()
    began = cpu = 0.0
    count = first = 0
    for event in fit.fit(task, steps=10**9, observe=True):
        count += isinstance(event, fit.Observed)
        if isinstance(event, fit.Step) and event.step == WARM_UP:
            began, cpu, first = time.perf_counter(), time.process_time(), count
            spent[:] = [0.0, 0.0]
        if isinstance(event, fit.Step) and began and time.perf_counter() - began > seconds:
            wall, used = time.perf_counter() - began, time.process_time() - cpu
            share, cpu_share = spent[0] / (wall - spent[0]), spent[1] / (used - spent[1])
            print(
                f"{key:18} {event.step - WARM_UP:6,} steps, {count - first:3} observations, "
                f"{share:.2%} of the time, {cpu_share:.2%} of the CPU time"
            )
            return


def _timed_observations() -> list[float]:
    """Wall and CPU seconds of all observations from now on."""
    spent = [0.0, 0.0]
    for name in ("observe", "finish"):
        original = Observer.__dict__[name]

        def timed(*args: object, original: object = original) -> object:
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                return original(*args)  # type: ignore[operator]
            finally:
                spent[0] += time.perf_counter() - wall
                spent[1] += time.process_time() - cpu

        setattr(Observer, name, timed)
    return spent


if __name__ == "__main__":
    main()
