"""Start-up times: imports, the first tensor, the command line, and the window, each in a fresh process.

python benchmarks/startup.py                   the table
python benchmarks/startup.py --rounds 10       more processes per row
python benchmarks/startup.py --json            one JSON object per line

The best of several processes with warm files: byte code is cached in a temporary folder. The rows take turns, so that
other load affects all of them; CPU seconds depend on it less. Windows does not report them. The window counts as usable
when it has painted and the event loop takes input.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = "assets/templates/digits-cnn.gradwire"
WINDOW = """
import os, sys
import main
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QMainWindow

class Watcher(QObject):
    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint and isinstance(watched, QMainWindow):
            QTimer.singleShot(0, lambda: os._exit(0))
        return False

from studio.ui import app
make = app.make_application

def watched(arguments):
    application = make(arguments)
    application.watcher = Watcher()
    application.installEventFilter(application.watcher)
    return application

app.make_application = watched
app.main()
"""


class Row(NamedTuple):
    """One process to time."""

    title: str
    arguments: tuple[str, ...]
    target: float | None = None
    """Seconds."""
    times_numpy: float | None = None
    """The target as a multiple of the time to import NumPy."""


def rows() -> list[Row]:
    all_rows = [Row("Python", ("-c", "pass")), Row("import numpy", ("-c", "import numpy"))]
    if importlib.util.find_spec("torch"):
        all_rows.append(Row("import torch", ("-c", "import torch")))
    all_rows += [
        Row("import engine", ("-c", "import engine"), times_numpy=2),
        Row("first tensor", ("-c", "import engine; engine.tensor([1.0])")),
        Row("import engine.nn", ("-c", "import engine.nn")),
        Row("gradwire --help", ("main.py", "--help"), 0.5),
        Row("gradwire check", ("main.py", "check", TEMPLATE), 1.0),
    ]
    if importlib.util.find_spec("PySide6"):
        all_rows.append(Row("window usable", ("-c", WINDOW), 1.5))
    return all_rows


def main() -> int:
    options = parse()
    best = measure(rows(), options.rounds)
    numpy = next(seconds for row, (seconds, _) in best.items() if row.title == "import numpy")
    failed = False
    if not options.json:
        print(f"{'':<20}{'seconds':>9}{'CPU s':>9}{'target':>9}{'of target':>11}{'× numpy':>9}")
    for row, (seconds, cpu) in best.items():
        target = row.target if row.times_numpy is None else row.times_numpy * numpy
        failed |= target is not None and seconds > target
        if options.json:
            print(
                json.dumps(
                    {"benchmark": row.title, "seconds": round(seconds, 4), "cpu": round(cpu, 4), "target": target}
                )
            )
        else:
            columns = f"{target:>9.2f}{seconds / target:>11.2f}" if target is not None else " " * 20
            print(f"{row.title:<20}{seconds:>9.3f}{cpu:>9.3f}{columns}{seconds / numpy:>9.1f}")
    return int(failed)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="processes per row")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    return parser.parse_args()


def measure(all_rows: list[Row], rounds: int) -> dict[Row, tuple[float, float]]:
    """Return the least seconds and CPU seconds of each row; for imports without the start of Python itself."""
    best = {row: (float("inf"), float("inf")) for row in all_rows}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPYCACHEPREFIX": folder}
        environment |= {"XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder, "XDG_STATE_HOME": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for turn in range(rounds + 1):
            for row in all_rows:
                times = run(row, environment)
                if turn:  # the first one writes the byte code
                    best[row] = min(best[row][0], times[0]), min(best[row][1], times[1])
    start = best[all_rows[0]]
    return {
        row: (times[0] - start[0], times[1] - start[1]) if row.arguments[1].startswith("import ") else times
        for row, times in best.items()
    }


def run(row: Row, environment: dict[str, str]) -> tuple[float, float]:
    start, before = time.perf_counter(), os.times()
    process = subprocess.run(
        [sys.executable, *row.arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    seconds, after = time.perf_counter() - start, os.times()
    if process.returncode:
        raise SystemExit(f"{row.title} failed:\n{process.stderr}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, cpu


if __name__ == "__main__":
    sys.exit(main())
