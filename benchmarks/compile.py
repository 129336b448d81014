"""One compiled training step (forward, loss, backward, Adam) beside our eager mode, PyTorch's, and torch.compile.

python benchmarks/compile.py                    all steps
python benchmarks/compile.py --only gpt-16      one of them; may be repeated
python benchmarks/compile.py --json             one object a line
python benchmarks/compile.py --peers            with torch.compile, which needs a C++ compiler and a minute a model
python benchmarks/compile.py --cpu              CPU time instead of the clock's: for one thread on a busy machine

All train in this process, in turns, on the same data from the same weights.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from models import BENCHMARKS
from train_step import Step, batch_of, load, set_threads, step_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def main() -> None:
    options = parse()
    set_threads(options.threads)
    for name in options.only or BENCHMARKS:
        clock = time.process_time if options.cpu else time.perf_counter
        report(name, measure(dict(steps(name, options)), options.seconds, clock), options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), help="run this one; may be repeated")
    parser.add_argument("--threads", type=int, default=2, help="threads of each library")
    parser.add_argument("--seconds", type=float, default=6.0, help="time for each benchmark")
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument("--peers", action="store_true", help="measure torch.compile as well")
    parser.add_argument("--cpu", action="store_true", help="measure CPU time")
    return parser.parse_args()


def steps(name: str, options: argparse.Namespace) -> Iterator[tuple[str, Step]]:
    """Steps by who takes them, each with a model of its own from the same weights, warmed up."""
    engine = load("engine")
    weights = {key: value.numpy() for key, value in BENCHMARKS[name].model(engine.nn).state_dict().items()}
    compiled = engine.compile(fresh(engine, name, weights), fullgraph=True)
    for _ in range(4):
        compiled()
    engine.compiler.wait()
    yield "engine", compiled
    yield "eager", fresh(engine, name, weights)
    if importlib.util.find_spec("torch") is None:
        return
    torch = load("torch")
    torch.set_num_threads(options.threads)
    yield "torch", fresh(torch, name, weights)
    if options.peers:
        yield "torch.compile", fresh(torch, name, weights, torch.compile)


def fresh(
    library: Any, name: str, weights: dict[str, Any], prepare: Callable[[Any], Any] = lambda model: model
) -> Step:
    """A step with a model and an optimizer of its own."""
    model = BENCHMARKS[name].model(library.nn)
    model.load_state_dict({key: library.tensor(array) for key, array in weights.items()})
    optimizer = library.optim.Adam(model.parameters(), lr=1e-3)
    return step_of(library, prepare(model), optimizer, *batch_of(library, BENCHMARKS[name]))


def measure(contestants: dict[str, Step], seconds: float, clock: Callable[[], float]) -> dict[str, float]:
    """Median milliseconds of a step of each. They take turns, and who goes first changes."""
    for step in contestants.values():
        for _ in range(5):
            step()
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    end = time.perf_counter() + seconds
    order = list(contestants)
    while time.perf_counter() < end or len(taken[order[0]]) < 5:
        order.reverse()
        for name in order:
            start = clock()
            contestants[name]()
            taken[name].append(clock() - start)
    return {name: statistics.median(times) * 1e3 for name, times in taken.items()}


def report(name: str, medians: dict[str, float], options: argparse.Namespace) -> None:
    others = [value for who, value in medians.items() if who.startswith("torch")]
    ratio = medians["engine"] / min(others) if others else None
    if options.json:
        times = {f"{who}_ms": round(value, 4) for who, value in medians.items()}
        print(json.dumps({"benchmark": name, "threads": options.threads, "ratio": ratio} | times), flush=True)
        return
    times = ", ".join(f"{who} {value:.2f} ms" for who, value in medians.items())
    print(f"{name:<12} {f'{ratio:5.2f}x' if ratio else ''}   {times}   {BENCHMARKS[name].title}", flush=True)


if __name__ == "__main__":
    main()
