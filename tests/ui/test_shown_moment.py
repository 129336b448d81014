"""The step of a run that views show: followed, chosen, moved by measured steps, compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QObject, Signal

from studio.training.runs.run_history import Run
from studio.training.session_events import Measured, StateChanged
from studio.training.statistics.statistics_file import StatisticsFile
from studio.training.statistics.step_statistics import StatisticsLayout, StepStatistics
from studio.ui.project.shown_moment import ShownMoment


def write_steps(folder: Path, steps: Iterable[int]) -> None:
    """Statistics whose norms are the steps."""
    folder.mkdir()
    file = StatisticsFile(folder, StatisticsLayout({"a.output": ("norm", "gradient")}, {}))
    for step in steps:
        file.append(step, np.full(2, step, np.float32), has_gradients=True)
    file.write()


class Runner(QObject):
    events = Signal(object)
    run_begun = Signal(object)
    run: Run | None = None


class Library(QObject):
    runs_changed = Signal()
    curves_changed = Signal()

    def __init__(self, folder: Path) -> None:
        super().__init__()
        folders = [folder / f"run {number}" for number in (1, 2)]
        self.runs = [Run(number, each, state="done", last={"step": 1_250}) for number, each in enumerate(folders, 1)]
        for each in folders:
            write_steps(each, range(20, 1_260, 20))


class Moments(ShownMoment):
    """With the number of changes."""

    count = 0

    def __init__(self, folder: Path) -> None:
        self.runner, self.library = Runner(), Library(folder)
        super().__init__(self.runner, self.library)  # pyright: ignore[reportArgumentType]
        self.changed.connect(self._add)

    def _add(self) -> None:
        self.count += 1

    def show_run(self, index: int, step: int) -> None:
        folder = self.library.runs[index].folder
        assert folder is not None
        self.show(folder, step)


@pytest.fixture
def moment(qapp: QObject, tmp_path: Path) -> Moments:
    return Moments(tmp_path)


def label(moment: ShownMoment) -> str:
    return "" if moment.moment is None else moment.moment.label


def test_the_newest_run_is_followed_until_a_step_is_chosen(moment: Moments) -> None:
    assert moment.is_live and label(moment) == "Run 2, step 1,250 (measured at 1,240)"
    moment.show_run(0, 1_001)
    assert (moment.is_live, moment.step, label(moment)) == (False, 1_001, "Run 1, step 1,001 (measured at 1,000)")
    moment.show_run(0, 5)
    assert moment.statistics is None and label(moment) == "Run 1, step 5 (not measured)"
    moment.show(Path("elsewhere"), 7)
    assert moment.step == 5 and moment.count == 2
    moment.follow()
    assert moment.is_live and moment.run is moment.library.runs[1] and moment.count == 3


def test_the_run_of_this_session_is_followed_by_its_events(moment: Moments) -> None:
    run = moment.runner.run = Run(3, last={"step": 45})
    moment.runner.run_begun.emit(run)
    assert label(moment) == "Run 3, step 45 (not measured)"
    moment.runner.events.emit(
        [Measured(lambda: StepStatistics(20, {}, {})), Measured(lambda: StepStatistics(40, {}, {}))]
    )
    assert label(moment) == "Run 3, step 45 (measured at 40)" and moment.count == 2
    run.last = {"step": 47}
    moment.runner.events.emit([StateChanged("paused")])
    assert label(moment) == "Run 3, step 47 (measured at 40)" and moment.count == 3, "it pauses between measured steps"
    run.last = {"step": 45}
    moment.show_run(0, 100)
    moment.runner.events.emit([Measured(lambda: StepStatistics(60, {}, {}))])
    assert moment.step == 100 and moment.count == 4, "a chosen step stays"
    moment.follow()
    assert label(moment) == "Run 3, step 60"


@pytest.mark.parametrize(
    ("start", "count", "step"),
    [(100, 1, 120), (100, -1, 80), (110, 1, 120), (110, -1, 100), (20, -1, 20), (1_240, 1, 1_240), (100, 10, 300)],
)
def test_keys_go_to_measured_steps(moment: Moments, start: int, count: int, step: int) -> None:
    moment.show_run(0, start)
    moment.move(count)
    assert moment.step == step
    moment.move_to_end(first=True)
    assert moment.step == 20
    moment.move_to_end(first=False)
    assert moment.step == 1_240


def remove(which: int) -> Callable[[Moments], None]:
    def removed(moment: Moments) -> None:
        del moment.library.runs[which]
        moment.library.runs_changed.emit()

    return removed


@pytest.mark.parametrize(("which", "has_base", "is_live"), [(0, False, False), (1, True, True)])
def test_a_removed_run_is_shown_no_longer(moment: Moments, which: int, *, has_base: bool, is_live: bool) -> None:
    moment.show_run(1, 100)
    moment.compare(moment.at(moment.library.runs[0], 40))
    assert moment.base is not None and moment.base.title == "Run 1, step 40"
    remove(which)(moment)
    assert (moment.base is not None, moment.is_live) == (has_base, is_live)


def test_damaged_statistics_are_a_problem_of_the_moment(moment: Moments) -> None:
    folder = moment.library.runs[0].folder
    assert folder is not None
    (folder / "statistics.bin").write_bytes(b"broken")
    moment.show(folder, 100)
    assert moment.moment is not None and moment.statistics is None
    assert "statistics.bin" in moment.moment.problem and not len(moment.measured_steps())
