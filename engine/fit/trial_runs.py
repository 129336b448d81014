"""Trial runs before training: learning-rate search, and overfitting one batch.

Both train the task and restore its state when they end or are closed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from engine import random
from engine.fit.carried_states import reset_states
from engine.fit.step_functions import StepFunctions, preserve_modes
from engine.fit.task import Task
from engine.fit.task_state import restore_task, save_task
from engine.optim.lr_scheduler.scheduler import set_learning_rate

_SMOOTHING = 0.9
"""Decay of the running mean of losses."""
_LAG = round(_SMOOTHING / (1 - _SMOOTHING))
"""Lag of the running mean in steps."""
_DIVERGED = 4.0
"""The search stops at this multiple of the lowest loss."""


@dataclass(frozen=True, slots=True)
class LearningRateTrial:
    """Result of one batch with a learning rate."""

    rate: float
    loss: float
    smoothed: float
    """Running mean of the losses."""


@dataclass(frozen=True, slots=True)
class LearningRateSuggestion:
    """Result of the search, its last event."""

    rate: float | None
    """Rate with the steepest loss decrease; None if the loss does not decrease."""
    lowest: float | None
    """Rate with the lowest loss; training is unstable above it."""


@dataclass(frozen=True, slots=True)
class OverfitStep:
    """Result of one step on the batch."""

    step: int
    loss: float
    share: float
    """Lowest loss so far as a fraction of the first loss."""


def find_rate(
    task: Task,
    *,
    low: float = 1e-7,
    high: float = 10.0,
    steps: int = 100,
    compile: bool = True,
    batches: Iterator[Any] | None = None,
) -> Generator[LearningRateTrial | LearningRateSuggestion, None, None]:
    """Train with learning rates rising from `low` to `high`, until the loss diverges.

    Source: Smith, Cyclical learning rates for training neural networks, arXiv 1506.01186.

    Args:
        steps: number of batches
        batches: batches on the device of the task (default: those of its loader)
    """
    if not 0 < low < high or steps < 2:
        raise ValueError(f"low must be above 0 and below high, and steps at least 2, not {low}, {high} and {steps}.")
    trials: list[LearningRateTrial] = []
    mean, lowest = 0.0, math.inf
    with trial(task, compile=compile) as train:
        chosen = cycle_batches(task) if batches is None else batches
        for number in range(steps):
            rate = low * (high / low) ** (number / (steps - 1))
            for optimizer in task.optimizers.values():
                for group in optimizer.param_groups:
                    set_learning_rate(group, rate)
            loss = train(next(chosen))
            mean = _SMOOTHING * mean + (1 - _SMOOTHING) * loss
            trials.append(LearningRateTrial(rate, loss, mean / (1 - _SMOOTHING ** (number + 1))))
            yield trials[-1]
            lowest = min(lowest, trials[-1].smoothed)
            if not trials[-1].smoothed <= _DIVERGED * abs(lowest):
                break
    yield _find_rate([one for one in trials if math.isfinite(one.smoothed)])


def overfit_one_batch(task: Task, *, steps: int = 200, compile: bool = True) -> Generator[OverfitStep, None, None]:
    """Train repeatedly on the first batch.

    A correct network reaches a loss close to 0. If the loss stays high, check for a loss that does not match its
    target, a detached part, or a learning rate that is far too low.
    """
    with trial(task, compile=compile) as train:
        batch = next(cycle_batches(task))
        first = lowest = math.nan
        for number in range(1, steps + 1):
            reset_states(task)
            loss = train(batch)
            first = loss if number == 1 else first
            lowest = min(loss, lowest) if number > 1 else loss
            yield OverfitStep(number, loss, lowest / first if first else 0.0)


@contextmanager
def trial(task: Task, *, compile: bool = True) -> Iterator[Callable[[Any], float]]:
    """A function that trains on a batch and returns its loss, the sum over optimizers; the task is restored on exit.

    Two trials of a task draw the same random numbers.
    """
    with random.drawing_from(task.stream):
        task.setup()
    before = save_task(task)
    functions = StepFunctions(task, compile=compile)
    task.stream.set_state(random.Generator(task.seed).fork("trial").get_state())

    def train(batch: Any) -> float:
        with random.drawing_from(task.stream):
            return sum(float(loss.item()) for loss in functions.train(task, batch).values())

    try:
        with preserve_modes(task):
            for module in task.modules.values():
                module.train()
            yield train
    finally:
        restore_task(task, before)


def cycle_batches(task: Task) -> Iterator[Any]:
    """The training batches of a task on its device, epoch after epoch."""
    epoch = 0
    loader = task.setup().train
    while True:
        loader.set_epoch(epoch, task.seed)
        reset_states(task)
        for batch in loader:
            yield task.to_device(batch)
        epoch += 1


def _find_rate(trials: list[LearningRateTrial]) -> LearningRateSuggestion:
    if len(trials) < 3:
        return LearningRateSuggestion(None, None)
    lowest = min(trials, key=lambda one: one.smoothed)
    falling = trials[: trials.index(lowest) + 1]
    slopes = [after.smoothed - before.smoothed for before, after in itertools.pairwise(falling)]
    if not slopes or min(slopes) >= 0:
        return LearningRateSuggestion(None, lowest.rate)
    steepest = slopes.index(min(slopes)) + 1
    return LearningRateSuggestion(trials[max(steepest - _LAG, 0)].rate, lowest.rate)


__all__ = [
    "OverfitStep",
    "LearningRateSuggestion",
    "LearningRateTrial",
    "cycle_batches",
    "find_rate",
    "overfit_one_batch",
    "trial",
]
