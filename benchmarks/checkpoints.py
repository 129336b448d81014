"""Cost of a checkpoint relative to an epoch of the convolutional template on 60,000 images.

python benchmarks/checkpoints.py               three epochs of each training; takes some minutes
python benchmarks/checkpoints.py --rounds 10   one epoch
python benchmarks/checkpoints.py --json        one JSON object per line

Two trainings of the same network take turns of a tenth of an epoch. One of them makes a checkpoint at the start of each
turn, which a background thread writes, as in the studio every 30 s. The cost of a checkpoint is the difference of their
times; `saving` is an epoch of ten turns with one checkpoint. `work` is the CPU time of both threads for the checkpoint,
which is more reliable on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from engine import fit
from studio.document import edits
from studio.document.files.project_templates import template
from studio.lowering import lower
from studio.lowering.check import check
from studio.nodes import catalogue
from studio.training.runs.background_writer import BackgroundWriter
from studio.training.runs.run_checkpoints import CheckpointManager

IMAGES = 60_000
TURNS = 10
"""Turns in an epoch."""


def idx_files(folder: Path) -> Path:
    """Files like MNIST's, with random pixels."""
    generator = np.random.default_rng(0)
    for part, count in (("train", IMAGES), ("t10k", 64)):
        images, labels = (
            generator.integers(0, 256, (count, 28, 28), np.uint8),
            generator.integers(0, 10, count, np.uint8),
        )
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
            (folder / f"{part}-{kind}-ubyte").write_bytes(header + array.tobytes())
    return folder


def training(folder: Path) -> fit.Training:
    document = template("digits-cnn").document
    document = edits.retype(document, "digits", "data.IDX", {"folder": str(folder)})
    document = edits.set_param(document, "scale", "std", 255.0)
    return fit.fit(lower(check(document, catalogue())).build(seed=0), epochs=1_000_000)


def steps(events: fit.Training) -> Iterator[fit.Step]:
    return (event for event in events if isinstance(event, fit.Step))


class TrainingInTurns:
    """A training that runs some batches at a time."""

    def __init__(self, folder: Path) -> None:
        self.training = training(folder)
        self.steps = steps(self.training)
        next(self.steps)
        self.batches = len(self.training.task.setup().train) // TURNS

    def take(self) -> None:
        for _ in range(self.batches):
            next(self.steps)


def measure(rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        folder = idx_files(Path(name))
        plain, saving = TrainingInTurns(folder), TrainingInTurns(folder)
        writer = BackgroundWriter()
        checkpoints = CheckpointManager(folder, writer, seconds=0, steps=None, keep=2)
        times: dict[TrainingInTurns, list[float]] = {plain: [], saving: []}
        work: list[float] = []
        for number in range(rounds + 1):
            for run in (plain, saving) if number % 2 else (saving, plain):
                start = time.perf_counter()
                if run is saving:
                    checkpoints.make(run.training.step, lambda: {"training": saving.training.state_dict()})
                run.take()
                times[run].append(time.perf_counter() - start)
            work.append(checkpoints.cost)
        writer.close()
        if problems := writer.messages():
            raise SystemExit("\n".join(problems))
        size = max(path.stat().st_size for path in (folder / "checkpoints").iterdir())
        plain.training.close()
        saving.training.close()
    epoch = TURNS * statistics.median(times[plain][1:])
    differences = (after - before for before, after in zip(times[plain][1:], times[saving][1:], strict=True))
    with_checkpoint = epoch + statistics.median(differences)
    return {
        "epoch_ms": epoch * 1e3,
        "saving_ms": with_checkpoint * 1e3,
        "work_ms": statistics.median(work[1:]) * 1e3,
        "size_kb": size / 1e3,
        "ratio": with_checkpoint / epoch,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30, help="tenths of an epoch")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    options = parser.parse_args()
    row: dict[str, Any] = {"benchmark": "digits-cnn on 60,000 images", **measure(options.rounds)}
    if options.json:
        print(json.dumps(row))
    else:
        print(", ".join(f"{name} {value:.4g}" for name, value in row.items() if name != "benchmark"))


if __name__ == "__main__":
    main()
