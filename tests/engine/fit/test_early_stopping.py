from __future__ import annotations

import pytest

from engine import fit
from engine.fit.early_stopping import BestTracker
from tests.engine.fit.clouds import Clouds, same_weights


def make_tracker(metric: str = "val_loss", **stopping: float) -> BestTracker:
    task = Clouds()
    task.setup()
    return BestTracker(task, metric, fit.EarlyStopping(**stopping) if stopping else None)


def stops_after(values: list[float], tracker: BestTracker, metric: str = "val_loss") -> int | None:
    """The number of validations after which early stopping ends a training; None if it does not."""
    for number, value in enumerate(values, start=1):
        tracker.update({metric: value})
        if tracker.should_stop:
            return number
    return None


def test_patience_and_minimum_change() -> None:
    assert stops_after([3, 2, 2, 2, 2], make_tracker(patience=2)) == 5
    assert stops_after([3, 2, 2.1, 1.9, 2, 2, 2], make_tracker(patience=2)) == 7
    assert stops_after([3, 2.9, 2.7, 2.4, 2.3, 2.2], make_tracker(patience=2, min_change=0.5)) is None
    assert stops_after([3, 2.9, 2.8, 2.7, 2.6], make_tracker(patience=1, min_change=0.5)) == 3
    assert stops_after([1, float("nan"), float("nan")], make_tracker(patience=1)) == 3
    assert stops_after([1, 2, 3], make_tracker()) is None


def test_maximized_metrics() -> None:
    tracker = make_tracker("val_accuracy", patience=0)
    assert tracker.update({"val_accuracy": 0.5})
    assert tracker.update({"val_accuracy": 0.6})
    assert not tracker.update({"val_accuracy": 0.55})
    assert tracker.should_stop
    with pytest.raises(ValueError, match=r"unknown metric 'val_acc'.*val_loss, val_accuracy"):
        make_tracker("val_acc")


def test_training_without_improvement_ends() -> None:
    events = list(fit.fit(Clouds(), epochs=50, early_stopping=fit.EarlyStopping(patience=0, min_change=0.3)))
    epochs = [event for event in events if isinstance(event, fit.Epoch)]
    assert events[-1].reason == "early"
    assert len(epochs) < 50
    assert epochs[0].best
    assert epochs[-1].val_loss > min(epoch.val_loss for epoch in epochs) - 0.3


def test_validation_within_epochs_changes_nothing() -> None:
    plain, validated_often = Clouds(seed=1), Clouds(seed=1)
    plain_steps = [event for event in fit.fit(plain, epochs=2) if isinstance(event, fit.Step)]
    events = list(fit.fit(validated_often, epochs=2, validate_steps=2))
    assert same_weights(plain, validated_often)
    steps = [event for event in events if isinstance(event, fit.Step)]
    assert [(step.loss, step.metrics) for step in steps] == [(step.loss, step.metrics) for step in plain_steps]
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
