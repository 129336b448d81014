"""One training step (forward, loss, backward, Adam) relative to PyTorch: ratios of medians.

python benchmarks/train_step.py                 all steps, against PyTorch where it is installed
python benchmarks/train_step.py --only mlp-64   one of them; repeatable
python benchmarks/train_step.py --json          one JSON object per line
python benchmarks/train_step.py --profile       profile the engine's step, without comparing

Both libraries take turns in this process, with the same data and initial weights, so that other load slows both.
"""

from __future__ import annotations

import argparse
import cProfile
import functools
import importlib
import importlib.util
import json
import os
import platform
import pstats
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models import BENCHMARKS, EAGER, Benchmark

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

Step = Callable[[], Any]


def main() -> None:
    options = parse()
    set_threads(options.threads)
    libraries = {"engine": load("engine")}
    if importlib.util.find_spec("torch") and not options.profile:
        libraries["torch"] = load("torch")
        libraries["torch"].set_num_threads(options.threads)
    if not options.json:
        versions = ", ".join(
            f"{name} {getattr(library, '__version__', '')}".strip() for name, library in libraries.items()
        )
        print(
            f"{versions}; Python {platform.python_version()}; {options.threads} threads; medians of interleaved steps"
        )
    for name in options.only or EAGER:
        benchmark = BENCHMARKS[name]
        steps = same_steps(benchmark, libraries)
        if options.profile:
            profile(benchmark, steps["engine"])
        else:
            report(name, benchmark, measure(steps, options.seconds), options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), help="run this benchmark; repeatable")
    parser.add_argument("--threads", type=int, default=2, help="threads per library")
    parser.add_argument("--seconds", type=float, default=6.0, help="seconds per benchmark")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.add_argument("--profile", action="store_true", help="profile the engine's step")
    return parser.parse_args()


def set_threads(threads: int) -> None:
    """Must run before NumPy is imported. `import engine` sets the waiting mode of threads for both libraries."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ[name] = str(threads)


def load(name: str) -> Any:
    library = importlib.import_module(name)
    for part in ("nn", "optim"):
        importlib.import_module(f"{name}.{part}")
    return library


def same_steps(benchmark: Benchmark, libraries: dict[str, Any]) -> dict[str, Step]:
    """A step per library, with equal weights and data."""
    models = {name: benchmark.model(library.nn) for name, library in libraries.items()}
    weights = {key: tensor.numpy() for key, tensor in models["engine"].state_dict().items()}
    steps = {}
    for name, library in libraries.items():
        model = models[name]
        model.load_state_dict({key: library.tensor(array) for key, array in weights.items()})
        optimizer = library.optim.Adam(model.parameters(), lr=1e-3)
        steps[name] = step_of(library, model, optimizer, *batch_of(library, benchmark))
    return steps


def batch_of(library: Any, benchmark: Benchmark) -> tuple[Any, Any]:
    """Inputs and classes, equal for all libraries."""
    numpy = importlib.import_module("numpy")
    generator, shape, vocabulary = numpy.random.default_rng(0), benchmark.input, benchmark.vocabulary
    if vocabulary:
        return library.tensor(generator.integers(0, vocabulary, shape)), library.tensor(
            generator.integers(0, vocabulary, numpy.prod(shape))
        )
    images = generator.standard_normal(shape).astype(numpy.float32)
    return library.tensor(images), library.tensor(generator.integers(0, 10, shape[0]))


def train(model: Any, loss_function: Any, optimizer: Any, images: Any, classes: Any) -> Any:
    """A step as a function of model, optimizer and batch."""
    optimizer.zero_grad()
    loss = loss_function(model(images), classes)
    loss.backward()
    optimizer.step()
    return loss


def step_of(library: Any, model: Any, optimizer: Any, images: Any, classes: Any) -> functools.partial[Any]:
    return functools.partial(train, model, library.nn.CrossEntropyLoss(), optimizer, images, classes)


def compiled(step: functools.partial[Any], *, by: str) -> functools.partial[Any]:
    """A step of the engine, compiled as in the studio ("fit") or by `engine.compile` ("function")."""
    if by == "function":
        return functools.partial(load("engine").compile(step.func, fullgraph=True), *step.args)
    kinds = {type(module) for module in step.args[0].modules()}
    kind = importlib.import_module("engine.compiler").CompiledFunction
    return functools.partial(kind(step.func, exact=True, replay_classes=tuple(kinds)), *step.args)


def measure(steps: dict[str, Step], seconds: float) -> dict[str, list[float]]:
    """Seconds per step and library. Libraries take turns in alternating order."""
    for step in steps.values():
        for _ in range(5):
            step()
    times: dict[str, list[float]] = {name: [] for name in steps}
    end = time.perf_counter() + seconds
    order = list(steps)
    while time.perf_counter() < end or len(times[order[0]]) < 10:
        order.reverse()
        for name in order:
            start = time.perf_counter()
            steps[name]()
            times[name].append(time.perf_counter() - start)
    return times


def report(name: str, benchmark: Benchmark, times: dict[str, list[float]], options: argparse.Namespace) -> None:
    medians = {library: statistics.median(seconds) for library, seconds in times.items()}
    ratio = medians["engine"] / medians["torch"] if "torch" in medians else None
    if options.json:
        milliseconds = {f"{library}_ms": round(median * 1e3, 4) for library, median in medians.items()}
        steps = len(times["engine"])
        print(
            json.dumps({"benchmark": name, "threads": options.threads, "steps": steps, "ratio": ratio} | milliseconds)
        )
        return
    medians_text = ", ".join(f"{library} {spread(seconds)}" for library, seconds in times.items())
    print(f"{name:<8} {f'{ratio:5.2f}x PyTorch' if ratio else ''}   {medians_text}   {benchmark.title}", flush=True)


def spread(seconds: list[float]) -> str:
    low, middle, high = statistics.quantiles(seconds, n=4)
    return f"{middle * 1e3:.2f} ms ({low * 1e3:.2f} to {high * 1e3:.2f})"


def profile(benchmark: Benchmark, step: Step) -> None:
    for _ in range(5):
        step()
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(50):
        step()
    profiler.disable()
    print(f"\n{benchmark.title}: 50 steps")
    pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(30)


if __name__ == "__main__":
    main()
