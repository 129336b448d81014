"""What the window costs training: batches a second with the Runs panel in sight, against those of a session alone.

    QT_QPA_PLATFORM=offscreen python benchmarks/window.py [ROUNDS] [SECONDS]

The same template is trained in turns, with the window and without, ROUNDS times (7) for SECONDS (4) each, after the
kernels are compiled; prints the ratio of each pair and their median. At least 0.97 is wanted where nothing else runs.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer

from engine import fit
from studio.document import edits, files
from studio.document.model import Document
from studio.document.templates import template
from studio.nodes.catalogue import catalogue
from studio.training import Session
from studio.ui import app
from studio.ui.project import Project
from studio.ui.settings import Settings

WARM_SECONDS = 1.0


def alone(document: Document, folder: Path, seconds: float) -> float:
    """Batches a second of a session that is watched as the command line watches it."""
    session = Session(document, catalogue(), base=folder, runs=folder / "alone.runs")
    session.start()
    last = 0

    def follow(until: float) -> int:
        nonlocal last
        while time.perf_counter() < until:
            for event in session.events(0.05):
                last = event.step if isinstance(event, fit.Step) else last
        return last

    first = follow(time.perf_counter() + WARM_SECONDS)
    begin = time.perf_counter()
    count = follow(begin + seconds) - first
    rate = count / (time.perf_counter() - begin)
    session.stop()
    session.join()
    return rate


def wait(seconds: float) -> None:
    """As the application does: QTest.qWait would keep Python's lock."""
    loop = QEventLoop()
    QTimer.singleShot(round(1000 * seconds), loop.quit)
    loop.exec()


def in_window(project: Project, seconds: float) -> float:
    """Batches a second of a run in the window."""
    runner = project.runner
    runner.start()
    wait(WARM_SECONDS)
    assert runner.run is not None
    first, begin = runner.run.progress.step, time.perf_counter()
    wait(seconds)
    rate = (runner.run.progress.step - first) / (time.perf_counter() - begin)
    runner.stop()
    while runner.is_active:
        wait(0.02)
    return rate


def main() -> None:
    rounds, seconds = (int(sys.argv[1]), float(sys.argv[2])) if len(sys.argv) > 2 else (7, 4.0)
    document = edits.set_training(template("digits-mlp").document, epochs=1_000_000)
    app.make_application(sys.argv[:1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files.save(document, folder / "digits.gradwire")
        settings = Settings(folder / "settings.ini")
        settings.reduce_motion = True
        window = app.make_window(settings, folder / "state")
        window.resize(1600, 1000)
        window.show()
        project = window.files.open(folder / "digits.gradwire")
        assert project is not None
        window.docks["runs"].reveal()
        while not project.store.is_checked:
            wait(0.02)
        alone(document, folder, seconds)  # kernels are compiled
        ratios: list[float] = []
        for turn in range(rounds):
            first = in_window(project, seconds) if turn % 2 else None
            plain = alone(document, folder, seconds)
            shown = in_window(project, seconds) if first is None else first
            ratios.append(shown / plain)
            print(f"alone {plain:8.0f}/s   window {shown:8.0f}/s   ratio {ratios[-1]:.3f}")
        print(f"median ratio {statistics.median(ratios):.3f}")
        window.workspace.close(project)
        window.close()


if __name__ == "__main__":
    main()
