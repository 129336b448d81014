from __future__ import annotations

import pytest

from engine import fit
from engine.fit.early_stopping import BestTracker
from tests.engine.fit.clouds import Clouds, same_weights


def judge(figure: str = "val_loss", **stopping: float) -> BestTracker:
    task = Clouds()
    task.setup()
    return BestTracker(task, figure, fit.EarlyStopping(**stopping) if stopping else None)


def ends(values: list[float], of: BestTracker, figure: str = "val_loss") -> int | None:
    """After how many validations a training ends."""
    for number, value in enumerate(values, start=1):
        of.update({figure: value})
        if of.should_stop:
            return number
    return None


def test_patience_and_minimum_change() -> None:
    assert ends([3, 2, 2, 2, 2], judge(patience=2)) == 5
    assert ends([3, 2, 2.1, 1.9, 2, 2, 2], judge(patience=2)) == 7
    assert ends([3, 2.9, 2.7, 2.4, 2.3, 2.2], judge(patience=2, min_change=0.5)) is None
    assert ends([3, 2.9, 2.8, 2.7, 2.6], judge(patience=1, min_change=0.5)) == 3
    assert ends([1, float("nan"), float("nan")], judge(patience=1)) == 3
    assert ends([1, 2, 3], judge()) is None


def test_maximized_metrics() -> None:
    following = judge("val_accuracy", patience=0)
    assert following.update({"val_accuracy": 0.5})
    assert following.update({"val_accuracy": 0.6})
    assert not following.update({"val_accuracy": 0.55})
    assert following.should_stop
    with pytest.raises(ValueError, match=r"unknown metric 'val_acc'.*val_loss, val_accuracy"):
        judge("val_acc")


def test_training_without_improvement_ends() -> None:
    events = list(fit.fit(Clouds(), epochs=50, early_stopping=fit.EarlyStopping(patience=0, min_change=0.3)))
    epochs = [event for event in events if isinstance(event, fit.Epoch)]
    assert events[-1].reason == "early"
    assert len(epochs) < 50
    assert epochs[0].best
    assert epochs[-1].val_loss > min(epoch.val_loss for epoch in epochs) - 0.3


def test_validation_within_epochs_changes_nothing() -> None:
    plain, looked_at = Clouds(seed=1), Clouds(seed=1)
    usual = [event for event in fit.fit(plain, epochs=2) if isinstance(event, fit.Step)]
    events = list(fit.fit(looked_at, epochs=2, validate_steps=2))
    assert same_weights(plain, looked_at)
    steps = [event for event in events if isinstance(event, fit.Step)]
    assert [(step.loss, step.metrics) for step in steps] == [(step.loss, step.metrics) for step in usual]
    within = [event for event in events if isinstance(event, fit.Validated)]
    assert [(event.epoch, event.step) for event in within] == [(1, 2), (2, 6)], "not also where an epoch ends"
    assert within[0].val_loss > within[1].val_loss


def test_validation_of_some_epochs() -> None:
    def validated(**options: int) -> list[bool]:
        events = fit.fit(Clouds(), epochs=5, **options)
        return [event.val_loss is not None for event in events if isinstance(event, fit.Epoch)]

    assert validated(validate_epochs=2) == [False, True, False, True, True], "the last one always is"
    assert validated(validate_epochs=0) == [False] * 5


def test_refused_arguments() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        fit.EarlyStopping(patience=-1)
    with pytest.raises(ValueError, match="validate_steps must be at least 1"):
        fit.fit(Clouds(), epochs=1, validate_steps=0)
