"""One compiled training step (forward, loss, backward, Adam) beside eager mode, PyTorch, torch.compile and JAX's jit.

python benchmarks/compile.py                    all steps
python benchmarks/compile.py --only gpt-16      one of them; repeatable
python benchmarks/compile.py --json             one JSON object per line
python benchmarks/compile.py --without jax      leave out a peer; repeatable. Missing libraries are left out
python benchmarks/compile.py --cpu              CPU time instead of wall time, for one thread on a busy machine
python benchmarks/compile.py --no-costs         only steps, not the cost of compiling

Each contestant is a separate process with the default threads and settings of its library; they take turns.
torch.compile needs a C++ compiler and a minute per model, JAX up to a minute.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import memory
from models import BENCHMARKS
from train_step import batch_of, compiled, load, set_threads, step_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

CONTESTANTS = {
    "engine": "engine",
    "function": "engine",
    "eager": "engine",
    "torch": "torch",
    "torch.compile": "torch",
    "jax": "jax",
}
"""Contestants, each with the library that it needs. "engine" is a step as `fit` runs it in the studio, by its
plan alone; "function" is the result of `engine.compile`, whose Python code runs on every call."""
COMPILED = {"engine": "fit", "function": "function"}
WARM_UP = 5
ROUND = 0.2
"""Seconds per turn of a contestant; at least one step."""


def main() -> None:
    options = parse()
    if options.inside:
        WORK[options.work](options)
        return
    for name in options.only or BENCHMARKS:
        report(name, measure(name, options) | ({} if options.no_costs else costs(name, options)), options)
    if not options.no_costs:
        report("recording", once("engine", "mlp-64", "recording", options), options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), help="run this benchmark; repeatable")
    parser.add_argument("--threads", type=int, default=2, help="threads per library")
    parser.add_argument(
        "--seconds", type=float, default=12.0, help="seconds per benchmark, for all contestants together"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.add_argument("--without", action="append", default=[], choices=list(CONTESTANTS), help="repeatable")
    parser.add_argument("--cpu", action="store_true", help="measure CPU time")
    parser.add_argument("--no-costs", action="store_true", help="do not measure first steps, recording and memory")
    parser.add_argument("--inside", choices=list(CONTESTANTS), help=argparse.SUPPRESS)
    parser.add_argument("--work", choices=list(WORK), help=argparse.SUPPRESS)
    return parser.parse_args()


# -- the contestants' processes


class Worker:
    """A contestant in a separate process, warmed up."""

    def __init__(self, contestant: str, name: str, options: argparse.Namespace) -> None:
        self.contestant = contestant
        self._process = subprocess.Popen(
            command(contestant, name, "steps", options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answer()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def turn(self) -> list[float]:
        """Return the seconds of `count` steps."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("answer "):
                return json.loads(line.partition(" ")[2])
        raise SystemExit(f"the process of {self.contestant} exited without a result")


def command(contestant: str, name: str, work: str, options: argparse.Namespace) -> list[str]:
    arguments = [
        sys.executable,
        __file__,
        "--inside",
        contestant,
        "--work",
        work,
        "--only",
        name,
        "--threads",
        str(options.threads),
    ]
    return arguments + ["--cpu"] * options.cpu


def answer(result: Any) -> None:
    print("answer", json.dumps(result), flush=True)


def measure(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Median step time of each contestant in ms. They take turns in alternating order."""
    times: dict[str, list[float]] = {
        contestant: []
        for contestant, library in CONTESTANTS.items()
        if contestant not in options.without and importlib.util.find_spec(library)
    }
    workers: dict[str, Worker] = {}
    try:
        for contestant in times:
            workers[contestant] = Worker(contestant, name, options)
        order, end = list(times), time.perf_counter() + options.seconds
        while time.perf_counter() < end or len(times[order[0]]) < 5:
            order.reverse()
            for contestant in order:
                times[contestant] += workers[contestant].turn()
    finally:
        for worker in workers.values():
            worker.end()
    return {f"{contestant}_ms": round(statistics.median(seconds) * 1e3, 4) for contestant, seconds in times.items()}


def take_steps(options: argparse.Namespace) -> None:
    """Run steps for the requested time after each line on standard input."""
    step = contestant(options, options.inside)
    for _ in range(WARM_UP):
        step()
    clock = time.process_time if options.cpu else time.perf_counter
    answer([])
    for _ in sys.stdin:
        times: list[float] = []
        end = time.perf_counter() + ROUND
        while not times or time.perf_counter() < end:
            start = clock()
            step()
            times.append(clock() - start)
        answer(times)


def contestant(options: argparse.Namespace, name: str) -> Any:
    """The step of a contestant, compiled if requested."""
    [benchmark] = options.only
    set_threads(options.threads)
    if name == "jax":
        numpy = importlib.import_module("numpy")
        arrays = batch_of(_Arrays(numpy), BENCHMARKS[benchmark])
        return importlib.import_module("jax_steps").step_of(benchmark, *arrays)
    library = load(CONTESTANTS[name])
    if name.startswith("torch"):
        library.set_num_threads(options.threads)
    step = fresh(library, benchmark, library.compile if name == "torch.compile" else lambda model: model)
    if name in COMPILED:
        step = compiled(step, by=COMPILED[name])
        for _ in range(4):
            step()
        library.compiler.wait()
    return step


class _Arrays:
    """The part of a library's interface that `batch_of` uses, for NumPy arrays."""

    def __init__(self, numpy: Any) -> None:
        self.tensor = numpy.asarray


def fresh(library: Any, name: str, prepare: Callable[[Any], Any] = lambda model: model) -> Any:
    """A step with a separate model and optimizer, starting from the same weights in each library."""
    engine = load("engine")
    engine.manual_seed(0)
    weights = {key: value.numpy() for key, value in BENCHMARKS[name].model(engine.nn).state_dict().items()}
    model = BENCHMARKS[name].model(library.nn)
    model.load_state_dict({key: library.tensor(array) for key, array in weights.items()})
    optimizer = library.optim.Adam(model.parameters(), lr=1e-3)
    return step_of(library, prepare(model), optimizer, *batch_of(library, BENCHMARKS[name]))


# -- cost of compiling


def costs(name: str, options: argparse.Namespace) -> dict[str, float]:
    """First step, kernel loading, recording overhead and memory, each measured in a separate process."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GRADWIRE_KERNELS"] = folder
        figures["first_ms"], figures["compiled_ms"], _ = once("engine", name, "first", options)
        _, figures["ready_ms"], figures["loaded_ms"] = once("engine", name, "first", options)
        del os.environ["GRADWIRE_KERNELS"]
    figures["eager_first_ms"] = once("eager", name, "first", options)[0]
    figures |= once("engine", name, "python", options)
    figures["memory_mb"] = once("engine", name, "memory", options)
    if importlib.util.find_spec("torch") and "torch" not in options.without:
        figures["torch_memory_mb"] = once("torch", name, "memory", options)
    return figures


def once(contestant: str, name: str, work: str, options: argparse.Namespace) -> Any:
    process = subprocess.run(command(contestant, name, work, options), stdout=subprocess.PIPE, text=True, check=True)
    [line] = [line for line in process.stdout.splitlines() if line.startswith("answer ")]
    return json.loads(line.partition(" ")[2])


def take_first_step(options: argparse.Namespace) -> None:
    """Answer with milliseconds: the first step; from there until two more steps and their kernels are done; and the
    part of both that was spent on loading kernels, including the import of LLVM.
    """
    set_threads(options.threads)
    engine = load("engine")
    step = fresh(engine, options.only[0])
    loading: list[float] = []
    if options.inside == "engine":
        step = compiled(step, by="fit")
        _time(importlib.import_module("engine.compiler.kernels.kernel_cache").KernelModule, "load", loading)
    start = time.perf_counter()
    step()
    first = time.perf_counter()
    for _ in range(2):
        step()
    engine.compiler.wait()
    answer([round(seconds * 1e3, 3) for seconds in (first - start, time.perf_counter() - first, sum(loading))])


def _time(kind: Any, name: str, times: list[float]) -> None:
    """Add the seconds of each call of a method to a total."""
    method = getattr(kind, name)

    def timed(*arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return method(*arguments)
        finally:
            times.append(time.perf_counter() - start)

    setattr(kind, name, timed)


def call_through_python(options: argparse.Namespace) -> None:
    """Extra time per op of a call through Python over a replay, and peak NumPy allocations of a replay."""
    function, replayed = contestant(options, "function"), contestant(options, "engine")
    ops = sum(entry.node.depth for entry in function.func.trace_call(*function.args))
    times: dict[int, list[float]] = {0: [], 1: []}
    for _ in range(30):
        for index, step in enumerate((function, replayed)):
            start = time.perf_counter()
            step()
            times[index].append(time.perf_counter() - start)
    difference = statistics.median(times[0]) - statistics.median(times[1])
    tracemalloc.start()
    replayed()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    replayed()
    allocated = tracemalloc.get_traced_memory()[1] - before
    answer({"python_us": round(difference / ops * 1e6, 3), "new_kb": round(allocated / 1024, 2)})


def record_op(options: argparse.Namespace) -> None:
    """Microseconds that one more op takes in a function with a known path."""
    set_threads(options.threads)
    engine = load("engine")
    x, y = engine.ones(4), engine.ones(4)

    def chain(x: Any, length: int) -> Any:
        for _ in range(length):
            x = x * y
        return x

    compiled, lengths = engine.compile(chain), (50, 100)
    times: dict[int, list[float]] = {length: [] for length in lengths}
    for number in range(2000):
        for length in lengths:
            start = time.perf_counter()
            compiled(x, length)
            times[length].append(time.perf_counter() - start)
        if number == 3:
            engine.compiler.wait()
    short, long = (statistics.median(times[length]) for length in lengths)
    answer({"record_us": round((long - short) / (lengths[1] - lengths[0]) * 1e6, 3)})


def measure_memory(options: argparse.Namespace) -> None:
    """MB that compiled steps need beyond model, data and optimizer state."""
    kilobytes = memory.memory_growth(
        options.only[0], CONTESTANTS[options.inside], options.threads, is_compiled=options.inside == "engine"
    )
    answer(round(kilobytes / memory.MB, 2))


WORK: dict[str, Callable[[argparse.Namespace], None]] = {
    "steps": take_steps,
    "first": take_first_step,
    "python": call_through_python,
    "recording": record_op,
    "memory": measure_memory,
}


def report(name: str, results: dict[str, float], options: argparse.Namespace) -> None:
    peers = {
        contestant: results[f"{contestant}_ms"]
        for contestant in ("torch", "torch.compile", "jax")
        if f"{contestant}_ms" in results
    }
    ratio = results["engine_ms"] / min(peers.values()) if peers and "engine_ms" in results else None
    if options.json:
        print(json.dumps({"benchmark": name, "threads": options.threads, "ratio": ratio} | results), flush=True)
        return
    figures = ", ".join(f"{key.replace('_', ' ')} {value:.4g}" for key, value in results.items())
    print(f"{name:<12} {f'{ratio:5.2f}x' if ratio else ''}   {figures}", flush=True)


if __name__ == "__main__":
    main()
