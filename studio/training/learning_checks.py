"""Trials of a document: which learning rate is a good one, and whether its network can learn at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TypeAlias

from engine import fit
from studio.lowering.program import lower
from studio.lowering.report import Report
from studio.training.failures import failure_event
from studio.training.run_settings import resolve_device
from studio.training.session_events import Failed

SEARCH_STEPS = 100
"""Batches that a search trains, at most."""
MIN_RATE, MAX_RATE = 1e-7, 10.0
"""Learning rates of a search."""

OVERFIT_STEPS = 200
"""With one batch, at most."""
LEARNS_BELOW = 0.1
"""Share of the first loss that is close enough to nothing."""
_STOP_BELOW = 0.01
"""Share of the first loss at which nothing is left to be shown."""

CheckEvent: TypeAlias = fit.RateTried | fit.RateFound | fit.BatchTrained | Failed


def search_learning_rate(get_report: Callable[[], Report], *, name: str | None = None) -> Iterator[CheckEvent]:
    """A search for the learning rate: each one that was tried, then what was found. Failed is the last, if it fails."""
    program = None
    try:
        report = get_report()
        program, training = lower(report, name), report.document.training
        task = program.build(resolve_device(training.device), training.seed)
        yield from fit.find_rate(task, low=MIN_RATE, high=MAX_RATE, steps=SEARCH_STEPS, compile=training.compile)
    except Exception as error:  # noqa: BLE001 - shown to whoever asked
        yield failure_event(error, program)


def overfit_batch(get_report: Callable[[], Report], *, name: str | None = None) -> Iterator[CheckEvent]:
    """Training with one batch, until the loss is close to nothing. Failed is the last, if it fails."""
    program = None
    try:
        report = get_report()
        program, training = lower(report, name), report.document.training
        task = program.build(resolve_device(training.device), training.seed)
        with closing(fit.overfit_one_batch(task, steps=OVERFIT_STEPS, compile=training.compile)) as steps:
            for trained in steps:
                yield trained
                if trained.share < _STOP_BELOW:
                    break
    except Exception as error:  # noqa: BLE001 - shown to whoever asked
        yield failure_event(error, program)
