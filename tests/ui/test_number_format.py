"""Number formats, progress of runs, and fuzzy matching."""

from __future__ import annotations

import math

import pytest

from engine import fit
from studio.training.run_progress import RunProgress
from studio.ui import number_format
from studio.ui.fuzzy_match import score


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (number_format.count(235146, "parameters"), "235,146 parameters"),
        (number_format.count(1, "parameters"), "1 parameter"),
        (number_format.count(0), "0"),
        (number_format.macs(999), "999 MAC"),
        (number_format.macs(1_230_000_000), "1.23 GMAC"),
        (number_format.macs(18_944), "18.9 kMAC"),
        (number_format.size(118_000), "118 kB"),
        (number_format.size(1), "1 byte"),
        (number_format.rate(12_412.0), "12,400/s"),
        (number_format.rate(3.14159), "3.14/s"),
        (number_format.duration(0.2), "less than 1 s"),
        (number_format.duration(44.6), "45 s"),
        (number_format.duration(170), "3 min"),
        (number_format.duration(7800), "2 h 10 min"),
        (number_format.measured(0.012345), "0.0123"),
        (number_format.measured(2.3e-6), "2.30e-06"),
        (number_format.measured(1234.5), "1,234.5"),
        (number_format.measured(math.nan), "NaN"),
        (number_format.measured(-math.inf), "-∞"),
        (number_format.milliseconds(0.000612), "0.61 ms"),
        (number_format.milliseconds(0.0821), "82 ms"),
        (number_format.milliseconds(1.2345), "1,234 ms"),
        (number_format.milliseconds(12.3), "12.3 s"),
        (number_format.milliseconds(0.0), "0 ms"),
        (number_format.milliseconds(4.53e-5), "45 µs"),
        (number_format.milliseconds(2e-7), "< 1 µs"),
        (number_format.norm(0.0831), "0.083"),
        (number_format.norm(1.2e-7), "1.2e-07"),
    ],
)
def test_numbers(text: str, expected: str) -> None:
    assert text == expected


def started(epochs: int | None = 2, steps: int | None = None) -> fit.Started:
    return fit.Started(epochs, steps, 10, 100, 20, 1234, "cpu", 0)


def step(number: int, loss: float = 1.0, seconds: float = 0.5) -> fit.Step:
    epoch, batch = divmod(number - 1, 10)
    return fit.Step(epoch + 1, batch + 1, number, loss, {}, {"accuracy": 0.5}, seconds, 20.0, 0.1, math.isfinite(loss))


def test_progress_fraction_and_remaining_time() -> None:
    progress = RunProgress().after(started())
    assert progress.fraction == 0
    assert progress.seconds_left is None
    for number in range(1, 11):
        progress = progress.after(step(number))
    assert progress.fraction == 0.5
    assert progress.seconds_left == pytest.approx(5.0)


def test_progress_ends_with_the_first_limit() -> None:
    assert RunProgress().after(started(epochs=2, steps=5)).steps == 5
    assert RunProgress().after(started(epochs=None, steps=50)).steps == 50
    assert RunProgress().after(started(epochs=None, steps=None)).fraction == 0


def test_stream_length_is_known_after_the_first_epoch() -> None:
    progress = RunProgress().after(fit.Started(3, None, None, None, None, 1, "cpu", 0))
    for number in range(1, 11):
        progress = progress.after(step(number))
    assert (progress.fraction, progress.seconds_left, progress.batches) == (0, None, None)
    ended = fit.Epoch(1, 10, 1.0, None, {}, {}, 5.0, 20.0, 0.1, finite=True, batches=10)
    progress = progress.after(ended)
    assert (progress.batches, progress.steps) == (10, 30)
    assert progress.seconds_left == pytest.approx(10.0)


def test_stream_progress_uses_the_step_limit() -> None:
    progress = RunProgress().after(fit.Started(None, 40, None, None, None, 1, "cpu", 0))
    for number in range(1, 11):
        progress = progress.after(step(number))
    assert progress.fraction == 0.25


def test_fuzzy_match_finds_titles_by_a_few_letters() -> None:
    titles = ["Save", "Save as…", "Dark theme", "Restore default layout"]
    assert max(titles, key=lambda title: score("dt", title) or -99) == "Dark theme"
    assert max(titles, key=lambda title: score("save", title) or -99) == "Save"
    assert score("xyz", "Save") is None
    assert score("", "Save") == 0
