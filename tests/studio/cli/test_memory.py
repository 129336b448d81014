"""A long training keeps to the memory that it has after some epochs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EPOCHS, SETTLED = 1000, 300
MOST = 2e6
"""Bytes, 3 kB for each epoch: what is left of the figures of an epoch is some hundred bytes in a file."""

CHILD = """
import json, sys
import psutil
import main
from engine import fit
from studio.training.training_session import TrainingSession

resident, tell = [], TrainingSession._emit


def record_memory(self, event, **options):
    tell(self, event, **options)
    if isinstance(event, fit.Epoch):
        resident.append(psutil.Process().memory_info().rss)


TrainingSession._emit = record_memory
code = main.main(sys.argv[1:])
print(json.dumps(resident))
sys.exit(code)
"""


@pytest.mark.slow
def test_memory_does_not_grow_over_a_thousand_epochs(project: Path) -> None:
    options = ["--set", "batches.batch_size=512", "--set", "training.checkpoint_seconds=1", "--quiet"]
    command = [sys.executable, "-c", CHILD, "run", str(project), "--epochs", str(EPOCHS), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1000, check=False)
    assert done.returncode == 0, done.stderr
    resident = json.loads(done.stdout)
    assert len(resident) == EPOCHS
    assert resident[-1] - resident[SETTLED] < MOST
