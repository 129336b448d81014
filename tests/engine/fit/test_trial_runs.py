from __future__ import annotations

import math
from typing import Any

import pytest

import engine
from engine import fit
from engine.fit import trial_runs
from tests.engine.fit.clouds import Clouds, same_weights


def test_learning_rate_search_restores_the_task() -> None:
    task, twin = Clouds(seed=1), Clouds(seed=1)
    engine.manual_seed(5)
    events = list(fit.find_rate(task, low=1e-5, high=100.0, steps=60))
    tried, result = events[:-1], events[-1]
    assert [event.rate for event in tried] == sorted(event.rate for event in tried)
    assert isinstance(result, fit.LearningRateSuggestion)
    assert result.rate is not None and result.lowest is not None
    assert 1e-3 < result.rate < 1
    assert result.rate <= result.lowest
    for one in (task, twin):
        list(fit.fit(one, epochs=2))
    assert same_weights(task, twin)


def test_suggested_rate_corrects_for_smoothing() -> None:
    """The losses fall along an S that is steepest at the 50th rate; their running mean is behind."""
    mean, tried = 0.0, list[trial_runs.LearningRateTrial]()
    for number in range(100):
        loss = 2 / (1 + math.exp((number - 50) / 8))
        mean = 0.9 * mean + 0.1 * loss
        tried.append(trial_runs.LearningRateTrial(1e-5 * 1.1**number, loss, mean / (1 - 0.9 ** (number + 1))))
    result = trial_runs._find_rate(tried)
    assert result.rate is not None
    assert abs(math.log(result.rate / tried[50].rate, 1.1)) < 5


def test_a_search_can_be_closed() -> None:
    task, twin = Clouds(seed=1), Clouds(seed=1)
    search = fit.find_rate(task)
    for _ in range(5):
        next(search)
    search.close()
    for one in (task, twin):
        list(fit.fit(one, epochs=1))
    assert same_weights(task, twin)


def test_overfitting_succeeds_or_fails() -> None:
    class Detached(Clouds):
        def losses(self, batch: Any) -> dict[Any, Any]:
            return {
                self.adam: sum(p.sum() for p in self.model.parameters()) * 0 + super().losses(batch)[self.adam].detach()
            }

    learns = list(fit.overfit_one_batch(Clouds(seed=1), steps=80))
    assert [event.step for event in learns] == list(range(1, 81))
    assert learns[-1].share < 0.1
    assert list(fit.overfit_one_batch(Detached(seed=1), steps=20, compile=False))[-1].share > 0.3


def test_refused_rates() -> None:
    with pytest.raises(ValueError, match="low must be above 0"):
        next(fit.find_rate(Clouds(), low=1.0, high=0.1))
