"""How often the window polls a running training."""

from __future__ import annotations

import time

import pytest

from studio.ui.project.refresh_interval import (
    MAX_MS,
    MAX_SHARE,
    MIN_MS,
    SHORT_BATCH_MAX_MS,
    SHORT_BATCH_MAX_SHARE,
    SHORT_BATCH_SECONDS,
    RefreshInterval,
)


class FakeThreadTime:
    """Replaces `time.thread_time` by a value that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        monkeypatch.setattr(time, "thread_time", lambda: self.seconds)


@pytest.fixture
def thread_time(monkeypatch: pytest.MonkeyPatch) -> FakeThreadTime:
    return FakeThreadTime(monkeypatch)


def settled_ms(interval: RefreshInterval, thread_time: FakeThreadTime, cost: float) -> int:
    """The interval after many refreshes that take `cost` seconds each."""
    for _ in range(20):
        thread_time.seconds += cost
        interval.next_ms()
    thread_time.seconds += cost
    return interval.next_ms()


@pytest.mark.parametrize("cost", [0.002, 0.005, 0.01, 0.0149])
def test_refreshes_take_their_share_of_the_time(thread_time: FakeThreadTime, cost: float) -> None:
    seconds = settled_ms(RefreshInterval(), thread_time, cost) / 1000
    assert cost / seconds == pytest.approx(MAX_SHARE, rel=0.02)


@pytest.mark.parametrize(("cost", "expected"), [(0.0, MIN_MS), (0.001, MIN_MS), (5.0, MAX_MS)])
def test_interval_has_bounds(thread_time: FakeThreadTime, cost: float, expected: int) -> None:
    assert settled_ms(RefreshInterval(), thread_time, cost) == expected


def test_short_batches_are_refreshed_less_often(thread_time: FakeThreadTime) -> None:
    thread_time.seconds += 10.0
    assert RefreshInterval().next_ms(SHORT_BATCH_SECONDS / 2) == MIN_MS, "time before the first refresh does not count"
    interval = RefreshInterval()
    thread_time.seconds += 0.02
    assert interval.next_ms(SHORT_BATCH_SECONDS / 2) == pytest.approx(1000 * 0.01 / SHORT_BATCH_MAX_SHARE, abs=1)
    thread_time.seconds += 5.0
    assert interval.next_ms(SHORT_BATCH_SECONDS / 2) == SHORT_BATCH_MAX_MS
    assert interval.next_ms(SHORT_BATCH_SECONDS) == MAX_MS


def test_interval_recovers_from_one_slow_refresh(thread_time: FakeThreadTime) -> None:
    interval = RefreshInterval()
    settled_ms(interval, thread_time, 0.002)
    thread_time.seconds += 0.04
    assert interval.next_ms() == MAX_MS
    assert settled_ms(interval, thread_time, 0.002) == pytest.approx(1000 * 0.002 / MAX_SHARE, abs=1)
