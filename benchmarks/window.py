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

from studio.document import edits, project_files
from studio.document.model import Document
from studio.document.project_templates import template
from studio.nodes.catalogue import catalogue
from studio.training import Session
from studio.ui import app
from studio.ui.project.project import Project
from studio.ui.settings import Settings

POLL_SECONDS = 0.05
"""The same as in the command line."""
SETTLING = 0.3
"""Seconds at the start of a turn that are not counted, while the window resumes."""


class Alone:
    """A session without a window."""

    def __init__(self, document: Document, folder: Path) -> None:
        self.session = Session(document, catalogue(), base=folder, runs=folder / "alone.runs")

    @property
    def steps(self) -> int:
        return self.session.steps

    def go_on(self) -> None:
        self.session.start()

    def pause(self) -> None:
        self.session.pause()
        while self.session.state != "paused":
            self.wait(0.0)

    def wait(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.session.join(min(POLL_SECONDS, left))
            self.session.events()

    def close(self) -> None:
        self.session.stop()
        self.session.join()


class Shown:
    """A run in the window."""

    def __init__(self, project: Project) -> None:
        self._runner = project.runner

    @property
    def steps(self) -> int:
        return self._runner.steps

    def go_on(self) -> None:
        self._runner.start()

    def pause(self) -> None:
        self._runner.pause()
        until(lambda: self._runner.state == "paused")

    def wait(self, seconds: float) -> None:
        wait(seconds)

    def close(self) -> None:
        self._runner.stop()
        until(lambda: not self._runner.is_active)


def turn(who: Alone | Shown, seconds: float) -> tuple[float, float]:
    """Batches per second, and the share of time in which this thread computes."""
    who.go_on()
    who.wait(SETTLING)
    first, begin, computed = who.steps, time.perf_counter(), time.thread_time()
    who.wait(seconds)
    steps, passed = who.steps - first, time.perf_counter() - begin
    share = (time.thread_time() - computed) / passed
    who.pause()
    return steps / passed, share


def wait(seconds: float) -> None:
    """Runs the event loop as the application does; QTest.qWait would hold the GIL."""
    loop = QEventLoop()
    QTimer.singleShot(round(1000 * seconds), loop.quit)
    loop.exec()


def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        wait(0.002)


def main() -> None:
    turns, seconds = (int(sys.argv[1]), float(sys.argv[2])) if len(sys.argv) > 2 else (40, 1.0)
    document = edits.set_training(template("digits-mlp").document, epochs=1_000_000)
    app.make_application(sys.argv[:1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project_files.save(document, folder / "digits.gradwire")
        settings = Settings(folder / "settings.ini")
        settings.reduce_motion = True
        window = app.make_window(settings, folder / "state")
        window.resize(1600, 1000)
        window.show()
        project = window.files.open(folder / "digits.gradwire")
        assert project is not None
        window.docks["runs"].reveal()
        until(lambda: project.store.is_checked)
        both = [Alone(document, folder), Shown(project)]
        taken: list[dict[int, tuple[float, float]]] = []
        for number in range(-4, turns):  # kernels compile during the first batches
            order = (0, 1) if number % 2 else (1, 0)
            found = {which: turn(both[which], seconds) for which in order}
            if number >= 0:
                taken.append(found)
        for each in both:
            each.close()
        window.open_projects.close(project)
        window.close()
    low, ratio, high = statistics.quantiles([found[1][0] / found[0][0] for found in taken], n=4)
    alone, shown = (statistics.median(found[which][0] for found in taken) for which in (0, 1))
    share = statistics.median(found[1][1] for found in taken)
    print(
        f"alone {alone:.0f}/s, in the window {shown:.0f}/s, ratio {ratio:.3f} (half between {low:.3f} and {high:.3f})"
    )
    print(f"the window's thread computes {share:.1%} of the time")


if __name__ == "__main__":
    main()
