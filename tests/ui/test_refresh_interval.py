"""How often the window looks at a training."""

from __future__ import annotations

import time

import pytest

from studio.ui.project.refresh_interval import (
    QUICK,
    QUICK_SHARE,
    QUICK_SLOWEST_MS,
    QUICKEST_MS,
    SHARE,
    SLOWEST_MS,
    RefreshInterval,
)


class Thread:
    """A thread whose computing time is what the test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        monkeypatch.setattr(time, "thread_time", lambda: self.seconds)


@pytest.fixture
def thread(monkeypatch: pytest.MonkeyPatch) -> Thread:
    return Thread(monkeypatch)


def settled(pace: RefreshInterval, thread: Thread, cost: float) -> int:
    """Return the refresh interval after many refreshes of the given duration."""
    for _ in range(20):
        thread.seconds += cost
        pace.next_ms()
    thread.seconds += cost
    return pace.next_ms()


@pytest.mark.parametrize("cost", [0.002, 0.005, 0.01, 0.0149])
def test_looks_take_their_share_of_the_time(thread: Thread, cost: float) -> None:
    between = settled(RefreshInterval(), thread, cost) / 1000
    assert cost / between == pytest.approx(SHARE, rel=0.02)


@pytest.mark.parametrize(("cost", "between"), [(0.0, QUICKEST_MS), (0.001, QUICKEST_MS), (5.0, SLOWEST_MS)])
def test_looks_are_neither_rarer_nor_more_frequent_than_of_use(thread: Thread, cost: float, between: int) -> None:
    assert settled(RefreshInterval(), thread, cost) == between


def test_quick_batches_are_looked_at_less_often(thread: Thread) -> None:
    thread.seconds += 10.0
    assert RefreshInterval().next_ms(QUICK / 2) == QUICKEST_MS, "what was before the first look is not counted"
    pace = RefreshInterval()
    thread.seconds += 0.02
    assert pace.next_ms(QUICK / 2) == pytest.approx(1000 * 0.01 / QUICK_SHARE, abs=1)
    thread.seconds += 5.0
    assert pace.next_ms(QUICK / 2) == QUICK_SLOWEST_MS
    assert pace.next_ms(QUICK) == SLOWEST_MS


def test_one_costly_look_is_soon_forgotten(thread: Thread) -> None:
    pace = RefreshInterval()
    settled(pace, thread, 0.002)
    thread.seconds += 0.04
    assert pace.next_ms() == SLOWEST_MS
    assert settled(pace, thread, 0.002) == pytest.approx(1000 * 0.002 / SHARE, abs=1)
