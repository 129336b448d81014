"""Convolution layers, forward and backward, relative to PyTorch: CPU time of one thread, ratios of medians.

python benchmarks/convolution.py                  all shapes
python benchmarks/convolution.py --rounds 30      more rounds, less noise
python benchmarks/convolution.py --json           one JSON object per layer

Both libraries take turns in this process, with the same data; CPU time excludes other load.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is imported


class Layer(NamedTuple):
    title: str
    function: str
    input: tuple[int, ...]
    weight: tuple[int, ...]
    options: dict[str, int]


class Times(NamedTuple):
    """Median seconds of a library."""

    forward: float
    backward: float
    both: float


def conv(batch: int, size: int, channels: int, outputs: int) -> Layer:
    title = f"{batch}x{size}x{size}, {channels} to {outputs}, 3x3"
    return Layer(title, "conv2d", (batch, channels, size, size), (outputs, channels, 3, 3), {"padding": 1})


LAYERS = [
    conv(64, 14, 32, 64),
    conv(16, 56, 64, 64),
    conv(16, 28, 128, 128),
    conv(16, 14, 256, 256),
    Layer("64x28x28, 1 to 32, 3x3", "conv2d", (64, 1, 28, 28), (32, 1, 3, 3), {"padding": 1}),
    Layer("16x56x56, 64 to 128, 3x3, stride 2", "conv2d", (16, 64, 56, 56), (128, 64, 3, 3),
          {"stride": 2, "padding": 1}),
    Layer("4x224x224, 3 to 64, 7x7, stride 2", "conv2d", (4, 3, 224, 224), (64, 3, 7, 7), {"stride": 2, "padding": 3}),
    Layer("16x28x28, 256 to 64, 1x1", "conv2d", (16, 256, 28, 28), (64, 256, 1, 1), {}),
    Layer("16x56x56, 64 depthwise, 3x3", "conv2d", (16, 64, 56, 56), (64, 1, 3, 3), {"padding": 1, "groups": 64}),
    Layer("32x1024, 64 to 64, 5", "conv1d", (32, 64, 1024), (64, 64, 5), {"padding": 2}),
    Layer("2x16x28x28, 32 to 32, 3x3x3", "conv3d", (2, 32, 16, 28, 28), (32, 32, 3, 3, 3), {"padding": 1}),
    Layer("16x14x14, 128 to 64, 4x4, stride 2", "conv_transpose2d", (16, 128, 14, 14), (128, 64, 4, 4),
          {"stride": 2, "padding": 1}),
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="rounds per row")
    parser.add_argument("--json", action="store_true", help="print one JSON object per layer")
    options = parser.parse_args()
    libraries = [importlib.import_module(name) for name in ("engine", "torch")]
    libraries[1].set_num_threads(1)
    show = as_object if options.json else as_line
    if not options.json:
        print("ratios to PyTorch's CPU time, then ms forward and backward: engine, PyTorch")
        print(f"{'layer':<52}{'forward':>9}{'backward':>10}{'both':>7}")
    for layer in LAYERS:
        ours, theirs = (medians(times) for times in measured(layer, libraries, options.rounds))
        print(show(f"{layer.function} {layer.title}", ours, theirs), flush=True)


def as_line(title: str, ours: Times, theirs: Times) -> str:
    forward, backward, both = (mine / other for mine, other in zip(ours, theirs, strict=True))
    milliseconds = f"{ours.both * 1e3:8.1f}{theirs.both * 1e3:8.1f}"
    return f"{title:<52}{forward:9.2f}{backward:10.2f}{both:7.2f}{milliseconds}"


def as_object(title: str, ours: Times, theirs: Times) -> str:
    milliseconds = {"ratio": ours.both / theirs.both, "engine_ms": ours.both * 1e3, "torch_ms": theirs.both * 1e3}
    return json.dumps({"benchmark": title, **milliseconds})


def measured(layer: Layer, libraries: list[Any], rounds: int) -> list[list[tuple[float, float]]]:
    """Seconds of forward and backward per library and round, without two warm-up rounds."""
    steps = [step_of(layer, library) for library in libraries]
    times: list[list[tuple[float, float]]] = [[] for _ in steps]
    for _ in range(rounds + 2):
        for seconds, step in zip(times, steps, strict=True):
            seconds.append(step())
    return [seconds[2:] for seconds in times]


def step_of(layer: Layer, library: Any) -> Callable[[], tuple[float, float]]:
    numpy = importlib.import_module("numpy")
    random = numpy.random.default_rng(0)
    shapes = [layer.input, layer.weight]
    leaves = [library.tensor(random.standard_normal(shape, dtype="float32"), requires_grad=True) for shape in shapes]
    function = getattr(importlib.import_module(f"{library.__name__}.nn.functional"), layer.function)
    gradient = library.tensor(random.standard_normal(function(*leaves, **layer.options).shape, dtype="float32"))

    def step() -> tuple[float, float]:
        for leaf in leaves:
            leaf.grad = None
        start = time.process_time()
        out = function(*leaves, **layer.options)
        middle = time.process_time()
        out.backward(gradient)
        return middle - start, time.process_time() - middle

    return step


def medians(times: list[tuple[float, float]]) -> Times:
    forward, backward = zip(*times, strict=True)
    return Times(statistics.median(forward), statistics.median(backward), statistics.median(map(sum, times)))


if __name__ == "__main__":
    main()
