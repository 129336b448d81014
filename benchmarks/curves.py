"""Frame times of the Runs panel with many long runs: growing, panning, zooming, smoothing.

    QT_QPA_PLATFORM=offscreen python benchmarks/curves.py [RUNS] [POINTS]

RUNS runs (20) of POINTS training batches each (1,000,000), two plots of 700×400 pixels. Prints the median and
the worst frame time in milliseconds, and the time to read a run of that length.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from frames import frames

from engine import fit
from studio.training.runs.metric_points import MetricPoints
from studio.training.runs.run_history import MetricsFollower, Run
from studio.ui import app
from studio.ui.panels.runs.curve_plot import CurvePlot, PlotOptions

FRAMES, BATCHES = 10, 1000


def run(number: int, points: int) -> Run:
    """Two noisy metrics, one falling and one rising."""
    run = Run(number, is_own=True)
    run.take([fit.Started(points // BATCHES, None, BATCHES, 64 * BATCHES, 0, 1, "cpu", 0)])
    extend(run, 0, points)
    return run


def extend(run: Run, begin: int, count: int) -> None:
    steps = np.arange(begin + 1.0, begin + count + 1)
    noise = np.random.default_rng(run.number + begin).normal(size=count)
    fall = np.exp(-steps / 3e5)
    values = {"loss": fall * (1 + 0.2 * noise) + 0.1, "accuracy": 1 - fall * (0.6 + 0.02 * noise)}
    run.add([MetricPoints("steps", steps, steps * 1e-3, values)])
    is_end = steps % BATCHES == 0
    ends = {name: value[is_end] for name, value in values.items()}
    run.add([MetricPoints("validation", steps[is_end], steps[is_end] * 1e-3, ends)])


def reading(points: int) -> None:
    """Read the same run from its file."""
    with tempfile.TemporaryDirectory() as folder:
        limits = {"epochs": points // BATCHES, "steps": None, "batches": BATCHES, "train_samples": 64 * BATCHES}
        rest = {"validation_samples": 0, "parameters": 1, "device": "cpu", "seed": 0, "compiled": True}
        first = {"event": "started", **limits, **rest}
        with (Path(folder) / "metrics.jsonl").open("w", encoding="utf-8") as file:
            file.write(json.dumps(first) + "\n")
            for step in range(1, points + 1):
                figures = {"loss": 1 / step, "train_accuracy": 1 - 1 / step, "learning_rate": 1e-3}
                position = {"epoch": step // BATCHES + 1, "batch": step % BATCHES, "step": step}
                rest = {"samples_per_second": 1e5, "finite": True}
                file.write(json.dumps({"event": "step", **position, **figures, **rest}) + "\n")
        read, follower, begin, longest = Run(1), MetricsFollower(Path(folder)), time.perf_counter(), 0.0
        while True:
            start = time.perf_counter()
            update = follower.read()
            read.apply_update(update)
            longest = max(longest, time.perf_counter() - start)
            if update.is_complete:
                break
        seconds = time.perf_counter() - begin
    print(f"{f'reading {points:,} lines':<44} {seconds:7.2f} s, at most {longest * 1000:.1f} ms at once")


def main() -> None:
    count, points = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (20, 1_000_000)
    application = app.make_application(sys.argv[:1])
    runs = [run(number, points) for number in range(1, count + 1)]
    plots = [CurvePlot(quantity) for quantity in ("loss", "accuracy")]
    for plot in plots:
        plot.resize(700, 400)
        plot.show()
    application.processEvents()
    print(f"{count} runs of {points:,} points, {len(plots)} plots")

    def draw(shown: PlotOptions) -> None:
        for plot in plots:
            plot.show_runs(runs, shown)

    def grow(index: int) -> None:
        extend(runs[-1], points + 500 * index, 500)
        draw(PlotOptions())

    def pan(index: int) -> None:
        for plot in plots:
            plot.getViewBox().setRange(xRange=(index, index + points / BATCHES / 2), padding=0)

    def zoom(index: int) -> None:
        for plot in plots:
            plot.getViewBox().setRange(xRange=(0, points / BATCHES * 0.8**index), padding=0)

    def highlight(index: int) -> None:
        for plot in plots:
            plot.show_runs(runs, PlotOptions(), runs[index % count])

    def settle() -> None:
        """Wait until a background thread has smoothed the curves."""
        application.processEvents()
        while any(plot.curves.is_smoothing for plot in plots):
            time.sleep(0.002)
            application.processEvents()

    begin = time.perf_counter()
    draw(PlotOptions())
    settle()
    print(f"{'first picture':<44} {1000 * (time.perf_counter() - begin):14.1f}")
    frames("one run grows by 500 points", FRAMES, grow)
    frames("repaint", FRAMES, lambda _: [plot.viewport().repaint() for plot in plots])
    frames("pan", FRAMES, pan)
    frames("zoom", FRAMES, zoom)
    for plot in plots:
        plot.reset()
    frames(
        "one run under the pointer",
        FRAMES,
        lambda index: [p.show_runs(runs, PlotOptions(), runs[index % count]) for p in plots],
    )
    settle()
    frames("smoothing", FRAMES, lambda index: draw(PlotOptions(smoothing=0.5 + index / 50)))
    settle()
    frames("smoothing, until drawn", 3, lambda index: (draw(PlotOptions(smoothing=0.6 + index / 50)), settle()))
    frames(
        "logarithmic axis of steps",
        FRAMES,
        lambda index: draw(PlotOptions(axis="step", log_x=True, log_y=index % 2 == 0)),
    )
    reading(points)


if __name__ == "__main__":
    main()
