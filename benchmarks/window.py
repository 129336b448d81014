"""Training speed with a visible Runs panel, relative to a session without a window.

    QT_QPA_PLATFORM=offscreen python benchmarks/window.py [TURNS] [SECONDS]

One template trains twice in one process: in the window, and in a session as in the command line. They take TURNS (40)
turns of SECONDS (1) each, while the other is paused, so that other load slows both. The window's event loop does not
run during turns of the session. Prints the median and the middle half of the ratios of neighboring turns, and the CPU
time of the window's thread, which does not depend on other load. Target on an idle machine: at least 0.97.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer

from studio.document import edits
from studio.document.files import project_files
from studio.document.files.project_templates import template
from studio.document.model import Document
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession
from studio.ui import app
from studio.ui.preferences.declarations import REDUCE_MOTION
from studio.ui.project.project import Project
from studio.ui.settings import Settings

POLL_SECONDS = 0.05
"""The same as in the command line."""
SETTLING = 0.3
"""Seconds at the start of a turn that are not counted, while the window resumes."""


class HeadlessRun:
    """A session without a window."""

    def __init__(self, document: Document, folder: Path) -> None:
        self.session = TrainingSession(document, catalogue(), base=folder, runs=folder / "alone.runs")

    @property
    def steps(self) -> int:
        return self.session.steps

    def resume(self) -> None:
        self.session.start()

    def pause(self) -> None:
        self.session.pause()
        while self.session.state != "paused":
            self.wait(0.0)

    def wait(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while (remaining := end - time.perf_counter()) > 0:
            self.session.join(min(POLL_SECONDS, remaining))
            self.session.events()

    def close(self) -> None:
        self.session.stop()
        self.session.join()


class WindowRun:
    """A run in the window."""

    def __init__(self, project: Project) -> None:
        self._runner = project.runner

    @property
    def steps(self) -> int:
        return self._runner.steps

    def resume(self) -> None:
        self._runner.start()

    def pause(self) -> None:
        self._runner.pause()
        until(lambda: self._runner.state == "paused")

    def wait(self, seconds: float) -> None:
        wait(seconds)

    def close(self) -> None:
        self._runner.stop()
        until(lambda: not self._runner.is_active)


def turn(run: HeadlessRun | WindowRun, seconds: float) -> tuple[float, float]:
    """Batches per second, and the share of time in which this thread computes."""
    run.resume()
    run.wait(SETTLING)
    first, begin, computed = run.steps, time.perf_counter(), time.thread_time()
    run.wait(seconds)
    steps, passed = run.steps - first, time.perf_counter() - begin
    share = (time.thread_time() - computed) / passed
    run.pause()
    return steps / passed, share


def wait(seconds: float) -> None:
    """Runs the event loop as the application does; QTest.qWait would hold the GIL."""
    loop = QEventLoop()
    QTimer.singleShot(round(1000 * seconds), loop.quit)
    loop.exec()


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        wait(0.002)


def main() -> None:
    turns, seconds = (int(sys.argv[1]), float(sys.argv[2])) if len(sys.argv) > 2 else (40, 1.0)
    document = edits.set_training(template("digits-mlp").document, epochs=1_000_000)
    app.make_application(sys.argv[:1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project_files.save(document, folder / "digits.gradwire")
        settings = Settings(folder / "settings.ini")
        settings.preferences.set(REDUCE_MOTION, True)
        window = app.make_window(settings, folder / "state")
        window.resize(1600, 1000)
        window.show()
        project = window.files.open(folder / "digits.gradwire")
        assert project is not None
        window.docks["runs"].reveal()
        until(lambda: project.store.is_checked)
        trainings = [HeadlessRun(document, folder), WindowRun(project)]
        results: list[dict[int, tuple[float, float]]] = []
        for number in range(-4, turns):  # kernels compile during the first batches
            order = (0, 1) if number % 2 else (1, 0)
            rates = {index: turn(trainings[index], seconds) for index in order}
            if number >= 0:
                results.append(rates)
        for training in trainings:
            training.close()
        window.open_projects.close(project)
        window.close()
    low, ratio, high = statistics.quantiles([rates[1][0] / rates[0][0] for rates in results], n=4)
    alone, shown = (statistics.median(rates[index][0] for rates in results) for index in (0, 1))
    share = statistics.median(rates[1][1] for rates in results)
    print(
        f"alone {alone:.0f}/s, in the window {shown:.0f}/s, ratio {ratio:.3f} (half between {low:.3f} and {high:.3f})"
    )
    print(f"the window's thread computes {share:.1%} of the time")


if __name__ == "__main__":
    main()
