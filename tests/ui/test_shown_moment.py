"""The step of a run that views show: followed, chosen, moved by measured steps, compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from studio.training.runs.run_history import Run
from studio.training.session_events import Measured
from studio.training.statistics.step_statistics import StepStatistics
from studio.ui.project.shown_moment import ShownMoment


class Steps:
    """Every 20th of 1,250 steps was measured."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def steps(self) -> NDArray[np.int64]:
        return np.arange(20, 1_260, 20)

    def at(self, step: int) -> StepStatistics | None:
        found = min(step, 1_240) // 20 * 20
        return StepStatistics(found, {}, {}) if found else None


class Runner(QObject):
    events = Signal(object)
    run_begun = Signal(object)
    run: Run | None = None


class Library(QObject):
    runs_changed = Signal()
    curves_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.runs = [Run(number, Path(f"run {number}"), state="done", last={"step": 1_250}) for number in (1, 2)]


class Moments(ShownMoment):
    """With the number of changes."""

    count = 0

    def __init__(self) -> None:
        self.runner, self.library = Runner(), Library()
        super().__init__(self.runner, self.library, Steps)  # pyright: ignore[reportArgumentType]
        self.changed.connect(self._add)

    def _add(self) -> None:
        self.count += 1


@pytest.fixture
def moment(qapp: QObject) -> Moments:
    return Moments()


def label(moment: ShownMoment) -> str:
    return "" if moment.moment is None else moment.moment.label


def test_the_newest_run_is_followed_until_a_step_is_chosen(moment: Moments) -> None:
    assert moment.is_live and label(moment) == "Run 2, step 1,250 (measured at 1,240)"
    moment.show(Path("run 1"), 1_001)
    assert (moment.is_live, moment.step, label(moment)) == (False, 1_001, "Run 1, step 1,001 (measured at 1,000)")
    moment.show(Path("run 1"), 5)
    assert moment.statistics is None and label(moment) == "Run 1, step 5 (not measured)"
    moment.show(Path("elsewhere"), 7)
    assert moment.step == 5 and moment.count == 2
    moment.follow()
    assert moment.is_live and moment.run is moment.library.runs[1] and moment.count == 3


def test_the_run_of_this_session_is_followed_by_its_events(moment: Moments) -> None:
    run = moment.runner.run = Run(3, last={"step": 45})
    moment.runner.run_begun.emit(run)
    assert label(moment) == "Run 3, step 45 (not measured)"
    moment.runner.events.emit([Measured(StepStatistics(20, {}, {})), Measured(StepStatistics(40, {}, {}))])
    assert label(moment) == "Run 3, step 45 (measured at 40)" and moment.count == 2
    moment.show(Path("run 1"), 100)
    moment.runner.events.emit([Measured(StepStatistics(60, {}, {}))])
    assert moment.step == 100 and moment.count == 3, "a chosen step stays"
    moment.follow()
    assert label(moment) == "Run 3, step 60 (measured at 60)"


@pytest.mark.parametrize(
    ("start", "count", "step"),
    [(100, 1, 120), (100, -1, 80), (110, 1, 120), (110, -1, 100), (20, -1, 20), (1_240, 1, 1_240), (100, 10, 300)],
)
def test_keys_go_to_measured_steps(moment: Moments, start: int, count: int, step: int) -> None:
    moment.show(Path("run 1"), start)
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
    moment.show(Path("run 2"), 100)
    moment.compare(moment.at(moment.library.runs[0], 40))
    assert moment.base is not None and moment.base.title == "Run 1, step 40"
    remove(which)(moment)
    assert (moment.base is not None, moment.is_live) == (has_base, is_live)
