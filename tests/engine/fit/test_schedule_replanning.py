"""Resuming with another length: schedules over the whole training are planned again, others do not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine import fit, optim
from engine.errors import WeightsError
from engine.optim import lr_scheduler
from tests.engine.fit.clouds import Clouds
from tests.engine.fit.test_resume import through_a_file

STEPS = 4
"""In an epoch."""
Make = Callable[[optim.Optimizer, int], dict[str, Any]]


def task(make: Make, epochs: int) -> fit.Task:
    class Planned(Clouds):
        per_step = ("each_step",)

        def configure(self) -> None:
            super().configure()
            vars(self).update(make(self.adam, epochs))

    return Planned(seed=1)


def rates(training: fit.Training) -> list[Any]:
    """The learning rate and the momentum after each batch, and after the epoch."""
    training.task.setup()
    [adam] = training.task.optimizers.values()
    return [
        (adam.param_groups[0]["lr"], adam.param_groups[0]["betas"])
        for event in training
        if isinstance(event, (fit.Step, fit.Epoch))
    ]


def interrupted_state(make: Make, epochs: int, batches: int) -> dict[str, Any]:
    training = fit.fit(task(make, epochs), epochs=epochs)
    while training.step < batches:
        next(training)
    if training.step == epochs * STEPS:
        list(training)
    return through_a_file(training.state_dict())


def resume(make: Make, epochs: int, state: dict[str, Any]) -> tuple[fit.Training, tuple[fit.ReplannedSchedule, ...]]:
    training = fit.fit(task(make, epochs), epochs=epochs)
    training.task.setup()
    state, planned = fit.replan_schedules(training.task, state)
    training.load_state_dict(state)
    return training, planned


def warm_up_and_cosine(adam: optim.Optimizer, epochs: int) -> dict[str, Any]:
    rise = lr_scheduler.LinearLR(adam, total_iters=3)
    fall = lr_scheduler.CosineAnnealingLR(adam, epochs * STEPS - 3)
    return {"each_step": lr_scheduler.SequentialLR(adam, [rise, fall], [3])}


PLANS: dict[str, Make] = {
    "cosine": lambda adam, epochs: {"each_epoch": lr_scheduler.CosineAnnealingLR(adam, epochs, 0.001)},
    "polynomial": lambda adam, epochs: {"each_step": lr_scheduler.PolynomialLR(adam, epochs * STEPS, 2.0)},
    "one cycle": lambda adam, epochs: {"each_step": lr_scheduler.OneCycleLR(adam, 0.1, epochs * STEPS)},
    "a row": warm_up_and_cosine,
    "side by side": lambda adam, epochs: {
        "each_epoch": lr_scheduler.ExponentialLR(adam, 0.5),
        "each_step": lr_scheduler.CosineAnnealingLR(adam, epochs * STEPS, 0.001),
    },
}


@pytest.mark.parametrize("batches", [2, 4, 7, 12])
@pytest.mark.parametrize("make", PLANS.values(), ids=PLANS)
def test_longer_training_uses_its_schedule(make: Make, batches: int) -> None:
    whole = rates(fit.fit(task(make, 5), epochs=5))
    state = interrupted_state(make, 3, batches)
    training, [planned] = resume(make, 5, state)
    assert planned.optimizer == "adam"
    assert planned.after == training.task.optimizers["adam"].param_groups[0]["lr"]
    result = rates(training)
    assert result == whole[-len(result) :]
    assert planned.before == state["task"]["optimizers"]["adam"]["groups"][0]["lr"]


@pytest.mark.parametrize("make", PLANS.values(), ids=PLANS)
def test_schedule_of_equal_length_is_unchanged(make: Make) -> None:
    state = interrupted_state(make, 3, 7)
    training, planned = resume(make, 3, state)
    assert planned == ()
    assert training.state_dict()["task"]["schedulers"] == fit_state(make, state)
    assert rates(training) == rates(fit.fit(task(make, 3), epochs=3))[8:]


def test_schedule_with_more_steps_than_batches_is_refused() -> None:
    """A damaged count of 2**63 would be walked to, one by one."""
    state = interrupted_state(PLANS["cosine"], 3, 7)
    state["task"]["schedulers"]["each_epoch"]["last_epoch"] = 2**63
    with pytest.raises(WeightsError, match=r"each_epoch has 9223372036854775808 steps after 7 batches"):
        resume(PLANS["cosine"], 5, state)


def fit_state(make: Make, state: dict[str, Any]) -> Any:
    """Scheduler states of a training after loading a state without replanning."""
    plain = fit.fit(task(make, 3), epochs=3)
    plain.load_state_dict(state)
    return plain.state_dict()["task"]["schedulers"]


def test_manual_learning_rate_is_kept_without_a_new_schedule() -> None:
    make: Make = lambda adam, epochs: {"each_epoch": lr_scheduler.MultiStepLR(adam, (1, 2))}  # noqa: E731
    state = interrupted_state(make, 3, 5)
    state["task"]["optimizers"]["adam"]["groups"][0]["lr"] = 0.123
    training, planned = resume(make, 5, state)
    assert planned == ()
    next(training)
    assert next(event for event in training if isinstance(event, fit.Step)).learning_rate == 0.123


def test_reductions_on_plateau_are_kept() -> None:
    def make(adam: optim.Optimizer, epochs: int) -> dict[str, Any]:
        plateau = lr_scheduler.ReduceLROnPlateau(adam, mode="max", patience=0, threshold=1e9, factor=0.5)
        return {"each_step": lr_scheduler.PolynomialLR(adam, epochs * STEPS), "plateau": plateau}

    state = interrupted_state(make, 4, 9)
    _, [planned] = resume(make, 8, state)
    assert planned.before == pytest.approx(0.05 * (1 - 9 / 16) * 0.5)
    assert planned.after == pytest.approx(0.05 * (1 - 9 / 32) * 0.5)


def test_patience_is_reset() -> None:
    stopping = fit.EarlyStopping(patience=1, min_change=1e9)
    whole = fit.fit(Clouds(seed=1), epochs=9, early_stopping=stopping)
    [done] = [event for event in whole if isinstance(event, fit.Done)]
    assert (done.reason, done.epochs) == ("early", 3)
    again = fit.fit(Clouds(seed=1), epochs=9, early_stopping=stopping)
    again.load_state_dict(through_a_file(whole.state_dict()))
    assert again.reset_patience()
    assert not again.reset_patience()
    [done] = [event for event in again if isinstance(event, fit.Done)]
    assert (done.reason, done.epochs) == ("early", 5)
