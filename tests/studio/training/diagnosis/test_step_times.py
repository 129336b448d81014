"""Usual times of the steps of a run."""

from __future__ import annotations

import pytest

from studio.training.diagnosis.step_times import StepTimes


def test_steps_before_kernels_are_compiled_do_not_count_as_computing() -> None:
    times = StepTimes()
    for number in range(60):
        times.add(0.001, 0.014 if number < 45 else 0.002)
    assert times.computing == pytest.approx(0.001)
    assert (times.seconds, times.waiting, times.count) == (0.014, 0.001, 60)


def test_without_steps_all_times_are_0() -> None:
    times = StepTimes()
    assert (times.computing, times.seconds, times.waiting, times.count) == (0, 0, 0, 0)
