"""Losses of each optimizer, for epochs and validations; and the best of a training that ends within its first epoch."""

from __future__ import annotations

import math
from typing import Any

import pytest

import engine
from engine import fit, nn, optim
from tests.engine.fit.clouds import Clouds, same_weights


class TwoOptimizers(Clouds):
    """Two optimizers, the loss of the second one twice that of the first."""

    def configure(self) -> None:
        super().configure()
        self.other = nn.Linear(4, 3)
        self.sgd = optim.SGD(self.other.parameters(), lr=0.1)

    def losses(self, batch: Any) -> dict[Any, Any]:
        points, labels = batch
        return {**super().losses(batch), self.sgd: self.criterion(self.other(points), labels) * 2}


def of_kind(events: Any, kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def test_epochs_and_validations_report_the_loss_of_each_optimizer() -> None:
    events = list(fit.fit(TwoOptimizers(seed=1), epochs=2, validate_steps=3, compile=False))
    epochs, within, steps = (of_kind(events, kind) for kind in (fit.Epoch, fit.Validated, fit.Step))
    sizes = [16, 16, 16, 12]
    for epoch in epochs:
        own = [step for step in steps if step.epoch == epoch.epoch]
        for name in ("adam", "sgd"):
            mean = sum(step.losses[name] * size for step, size in zip(own, sizes, strict=True)) / 60
            assert epoch.train_losses[name] == pytest.approx(mean)
        assert sum(epoch.train_losses.values()) == pytest.approx(epoch.train_loss)
    assert epochs and within
    for validated in (*epochs, *within):
        assert validated.val_losses.keys() == {"adam", "sgd"}
        assert sum(validated.val_losses.values()) == pytest.approx(validated.val_loss)
        assert validated.val_losses["adam"] != pytest.approx(validated.val_losses["sgd"])
    [*_, result] = fit.evaluate(TwoOptimizers(seed=1), compile=False)
    assert isinstance(result, fit.Validated)
    assert sum(result.val_losses.values()) == pytest.approx(result.val_loss)


@pytest.mark.parametrize("is_old", [False, True])
def test_losses_resume_within_an_epoch(tmp_path: Any, is_old: bool) -> None:
    """States of older versions have only the mean of all losses."""
    whole = of_kind(fit.fit(TwoOptimizers(seed=1), epochs=2, compile=False), fit.Epoch)
    interrupted = fit.fit(TwoOptimizers(seed=1), epochs=2, compile=False)
    while interrupted.step < 2:
        next(interrupted)
    state = interrupted.state_dict()
    if is_old:
        state["mean"] = state["mean"][:2]
    engine.save(state, tmp_path / "state")
    resumed = fit.fit(TwoOptimizers(seed=1), epochs=2, compile=False)
    resumed.load_state_dict(engine.load(tmp_path / "state"))
    rest = of_kind(resumed, fit.Epoch)
    assert [epoch.train_loss for epoch in rest] == [epoch.train_loss for epoch in whole]
    assert [epoch.train_losses for epoch in rest] == [{} if is_old else whole[0].train_losses, whole[1].train_losses]
    assert [epoch.val_losses for epoch in rest] == [epoch.val_losses for epoch in whole]


def test_a_training_that_ends_within_its_first_epoch_has_a_best() -> None:
    short = of_kind(fit.fit(Clouds(seed=1), steps=2, compile=False), fit.Epoch)
    assert [epoch.best for epoch in short] == [True]
    assert short[0].val_loss is not None
    unvalidated = of_kind(fit.fit(Clouds(seed=1), steps=2, validate_epochs=0, compile=False), fit.Epoch)
    assert [(epoch.best, epoch.val_loss) for epoch in unvalidated] == [(False, None)]
    judged = list(fit.fit(Clouds(seed=1), steps=2, validate_steps=1, follow="val_loss", compile=False))
    assert of_kind(judged, fit.Validated)[0].best
    assert not of_kind(judged, fit.Epoch)[0].best, "there is one already, of a validation within the epoch"
    later = of_kind(fit.fit(Clouds(seed=1), steps=6, compile=False), fit.Epoch)
    assert [epoch.best for epoch in later] == [True, False]

    class Broken(Clouds):
        def losses(self, batch: Any) -> dict[Any, Any]:
            return {one: loss * math.nan for one, loss in super().losses(batch).items()}

    assert not of_kind(fit.fit(Broken(seed=1), steps=2, compile=False), fit.Epoch)[0].best


def test_extending_a_stopped_training_gives_the_uninterrupted_result() -> None:
    stopping = fit.EarlyStopping(patience=1)
    whole = fit.fit(Clouds(seed=1), epochs=3, early_stopping=stopping, compile=False)
    epochs = of_kind(whole, fit.Epoch)
    short = fit.fit(Clouds(seed=1), steps=2, early_stopping=stopping, compile=False)
    while not isinstance(next(short), fit.Done):
        pass
    longer = fit.fit(Clouds(seed=1), epochs=3, early_stopping=stopping, compile=False)
    longer.load_state_dict(short.state_dict())
    rest = of_kind(longer, fit.Epoch)
    fields = ("epoch", "step", "best", "train_loss", "val_loss", "train_losses", "val_losses", "val_metrics")
    assert [[getattr(one, name) for name in fields] for one in rest] == [
        [getattr(one, name) for name in fields] for one in epochs
    ]
    assert same_weights(longer.task, whole.task)
    assert longer.state_dict()["judge"] == whole.state_dict()["judge"]
