"""Checks before training: learning-rate search, and overfitting one batch to see whether the network learns."""

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
"""Maximum number of batches of a learning-rate search."""
MIN_RATE, MAX_RATE = 1e-7, 10.0
"""Range of learning rates of a search."""

OVERFIT_STEPS = 200
"""Maximum number of steps on one batch."""
LEARNS_BELOW = 0.1
"""The network learns if the loss falls below this fraction of the first loss."""
_STOP_BELOW = 0.01
"""Fraction of the first loss at which the check stops early."""

CheckEvent: TypeAlias = fit.LearningRateTrial | fit.LearningRateSuggestion | fit.OverfitStep | Failed


def search_learning_rate(get_report: Callable[[], Report], *, name: str | None = None) -> Iterator[CheckEvent]:
    """Search for a learning rate. Yields each rate tried, then the result; ends with Failed on an error."""
    program = None
    try:
        report = get_report()
        program, training = lower(report, name), report.document.training
        task = program.build(resolve_device(training.device), training.seed)
        yield from fit.find_rate(task, low=MIN_RATE, high=MAX_RATE, steps=SEARCH_STEPS, compile=training.compile)
    except Exception as error:  # noqa: BLE001 - reported as an event
        yield failure_event(error, program)


def overfit_batch(get_report: Callable[[], Report], *, name: str | None = None) -> Iterator[CheckEvent]:
    """Train on one batch until the loss is close to 0. Ends with Failed on an error."""
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
    except Exception as error:  # noqa: BLE001 - reported as an event
        yield failure_event(error, program)
