"""Time to read the statistics of a step from a store of many steps, and its size.

python benchmarks/scrubbing.py                   100,000 steps of a network with 40 outputs and 20 parameters
python benchmarks/scrubbing.py --steps 1000000   more: the file is thinned at its limit
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine.ops.reduction.tensor_statistics import STATISTICS
from studio.training.statistics.run_statistics import RunStatistics
from studio.training.statistics.statistics_file import StatisticsFile
from studio.training.statistics.step_statistics import StatisticsLayout

READS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000, help="measured steps")
    parser.add_argument("--outputs", type=int, default=40, help="measured outputs")
    parser.add_argument("--parameters", type=int, default=20, help="measured parameters")
    options = parser.parse_args()
    layout = StatisticsLayout(
        {f"block.{number}.layer.output": (*STATISTICS, "gradient") for number in range(options.outputs)},
        {f"block.{number}.layer.weight": ("norm", "gradient", "update") for number in range(options.parameters)},
    )
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), layout, options.steps)
        read(Path(folder), options.steps)


def write(folder: Path, layout: StatisticsLayout, steps: int) -> None:
    file = StatisticsFile(folder, layout)
    numbers = np.random.default_rng(0).random(len(layout.columns), np.float32)
    began = time.perf_counter()
    for step in range(1, steps + 1):
        file.append(step, numbers, has_gradients=step % 10 == 0)
        if step % 1000 == 0:
            file.write()
    file.write()
    seconds = time.perf_counter() - began
    size = file.path.stat().st_size
    figures = f"{steps:,} steps of {len(layout.columns):,} figures"
    print(f"{figures}: {size / 2**20:,.1f} MB, {seconds / steps * 1e6:.1f} µs each")


def read(folder: Path, steps: int) -> None:
    reader = RunStatistics(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    for step in np.random.default_rng(1).integers(1, steps + 1, READS).tolist():
        began = time.perf_counter()
        found = reader.at(step)
        assert found is not None
        assert found.outputs["block.7.layer.output"]
        times.append(time.perf_counter() - began)
    print(f"at:     median {statistics.median(times) * 1000:.2f} ms, largest {max(times) * 1000:.2f} ms of {READS:,}")
    for name in ("first", "again"):
        began = time.perf_counter()
        found = reader.series("output", "block.7.layer.output", "mean")
        print(f"series: {(time.perf_counter() - began) * 1000:.1f} ms for {len(found[0]):,} steps, {name}")
    began = time.perf_counter()
    count = len(reader.steps())
    print(f"steps:  {(time.perf_counter() - began) * 1000:.1f} ms for {count:,}")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"memory: {(after - before) / 1024:.1f} MB")


if __name__ == "__main__":
    main()
