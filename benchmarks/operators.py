"""Layers and ops of sequence models, forward and backward in float32, relative to PyTorch: ratios of medians.

python benchmarks/operators.py                  all, with one thread and with two
python benchmarks/operators.py --threads 1      only with one
python benchmarks/operators.py --json           one JSON object per line
python benchmarks/operators.py --only LSTM      rows whose title contains this text

Both libraries take turns in one process, with the same data. With one thread, CPU time is measured, which excludes
other load; with two, wall time. OpenBLAS reads its number of threads at start, so each number has a separate process.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
Make = Callable[[Any], tuple[Callable[..., Any], list[tuple[int, ...]]]]
"""Function of a library that returns what is timed, and the shapes of its inputs."""


def function(call: Callable[..., Any], *shapes: tuple[int, ...]) -> Make:
    return lambda library: (lambda *inputs: call(library.nn.functional, *inputs), list(shapes))


def layer(name: str, shape: tuple[int, ...], *args: Any) -> Make:
    def make(library: Any) -> tuple[Callable[..., Any], list[tuple[int, ...]]]:
        module = getattr(library.nn, name)(*args)
        return lambda x: found[0] if isinstance(found := module(x), tuple) else found, [shape]

    return make


def entropy(rows: int, classes: int) -> Make:
    def make(library: Any) -> tuple[Callable[..., Any], list[tuple[int, ...]]]:
        target = library.tensor([(7 * row) % classes for row in range(rows)])
        return lambda x: library.nn.functional.cross_entropy(x, target), [(rows, classes)]

    return make


HEADS = (16, 4, 128, 32)
CASES: dict[str, Make] = {
    "softmax 64x1000": function(lambda F, x: F.softmax(x, -1), (64, 1000)),
    "softmax 16x4x128x128": function(lambda F, x: F.softmax(x, -1), (16, 4, 128, 128)),
    "log_softmax 64x1000": function(lambda F, x: F.log_softmax(x, -1), (64, 1000)),
    "log_softmax 16x4x128x128": function(lambda F, x: F.log_softmax(x, -1), (16, 4, 128, 128)),
    "LayerNorm 2048x128": layer("LayerNorm", (2048, 128), 128),
    "LayerNorm 16x128x768": layer("LayerNorm", (16, 128, 768), 768),
    "cross_entropy 64x10": entropy(64, 10),
    "cross_entropy 2048x5000": entropy(2048, 5000),
    "GELU 64x128x256": function(lambda F, x: F.gelu(x), (64, 128, 256)),
    "GELU, tanh, 64x128x256": function(lambda F, x: F.gelu(x, approximate="tanh"), (64, 128, 256)),
    "attention 16x4x128x32": function(lambda F, *x: F.scaled_dot_product_attention(*x), HEADS, HEADS, HEADS),
    "LSTM 32 to 128, 128 steps, batch 64": layer("LSTM", (128, 64, 32), 32, 128),
    "GRU 32 to 128, 128 steps, batch 64": layer("GRU", (128, 64, 32), 32, 128),
    "RNN 32 to 128, 128 steps, batch 64": layer("RNN", (128, 64, 32), 32, 128),
    "TransformerEncoderLayer 64x16x128": layer("TransformerEncoderLayer", (64, 16, 128), 128, 4, 512, 0.0),
}


def main() -> None:
    options = parse()
    if options.threads is None:
        for threads in (1, 2):
            command = [sys.executable, __file__, "--threads", str(threads), "--rounds", str(options.rounds)]
            command += ["--only", options.only] + (["--json"] if options.json else [])
            environment = os.environ | dict.fromkeys(VARIABLES, str(threads))
            subprocess.run(command, check=True, env=environment)
        return
    for name in VARIABLES:
        os.environ.setdefault(name, str(options.threads))  # before NumPy is imported
    libraries = [importlib.import_module(name) for name in ("engine", "torch")]
    libraries[1].set_num_threads(options.threads)
    if not options.json:
        print(f"threads: {options.threads}\n{'':<40}{'engine':>12}{'PyTorch':>12}{'ratio':>8}")
    for title, make in CASES.items():
        if options.only in title:
            ours, theirs = measured(make, libraries, options.rounds, options.threads)
            report(title, options.threads, ours * 1e3, theirs * 1e3, as_json=options.json)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, help="threads per library (default: one and two)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds per row")
    parser.add_argument("--only", default="", help="measure rows whose title contains this text")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    return parser.parse_args()


def report(title: str, threads: int, ours: float, theirs: float, *, as_json: bool) -> None:
    if as_json:
        row = f"{title}, {threads} thread{'s' if threads > 1 else ''}"
        print(json.dumps({"title": row, "engine_ms": ours, "torch_ms": theirs, "ratio": ours / theirs}), flush=True)
    else:
        print(f"{title:<40}{ours:10.2f} ms{theirs:10.2f} ms{ours / theirs:7.2f}", flush=True)


def measured(make: Make, libraries: list[Any], rounds: int, threads: int) -> list[float]:
    """Median seconds per library, after two warm-up rounds."""
    clock = time.process_time if threads == 1 else time.perf_counter
    steps = [step_of(make, library) for library in libraries]
    times: list[list[float]] = [[] for _ in steps]
    for _ in range(rounds + 2):
        for seconds, (step, repeats) in zip(times, steps, strict=True):
            start = clock()
            for _ in range(repeats):
                step()
            seconds.append((clock() - start) / repeats)
    return [statistics.median(seconds[2:]) for seconds in times]


def step_of(make: Make, library: Any) -> tuple[Callable[[], None], int]:
    """Forward and backward, and their repetitions per round."""
    numpy = importlib.import_module("numpy")
    random = numpy.random.default_rng(0)
    call, shapes = make(library)
    leaves = [library.tensor(random.standard_normal(shape, dtype="float32"), requires_grad=True) for shape in shapes]
    shape = tuple(call(*leaves).shape)
    gradient = library.tensor(random.standard_normal(shape, dtype="float32"))

    def step() -> None:
        for leaf in leaves:
            leaf.grad = None
        call(*leaves).backward(gradient)

    return step, max(1, 200_000 // sum(leaf.numel() for leaf in leaves))


if __name__ == "__main__":
    main()
