from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import engine
from engine import fit, nn, optim
from engine.compiler import explain
from engine.fit.step_functions import StepFunctions
from engine.optim import lr_scheduler
from tests.compiled import bitwise
from tests.engine.fit.clouds import Clouds, same_weights, weights


def make_task(kind: type[Clouds] = Clouds, seed: int = 1, **settings: Any) -> Clouds:
    """A task with settings of a step."""
    return type("Made", (kind,), settings)(seed=seed)


class Plain(Clouds):
    """Without layers whose batches are not the sum of their samples."""

    def configure(self) -> None:
        self.model = nn.Linear(4, 3)
        self.criterion = nn.CrossEntropyLoss()
        self.sgd = optim.SGD(self.model.parameters(), lr=0.1)

    def losses(self, batch: Any) -> dict[Any, Any]:
        points, labels = batch
        return {self.sgd: self.criterion(self.model(points), labels)}


SETTINGS = {
    "accumulated": {"accumulate": 3},
    "norm": {"clip_norm": 0.05},
    "value": {"clip_value": 0.01},
    "all": {"accumulate": 2, "clip_norm": 0.05, "clip_value": 0.01},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_compiled_steps_equal_eager_steps(settings: dict[str, Any]) -> None:
    """No graph breaks, replayed without Python; with eager kernels, results are bitwise equal to eager mode."""
    eager, compiled = make_task(**settings), make_task(**settings)
    list(fit.fit(eager, epochs=6, compile=False))
    with bitwise():
        list(fit.fit(compiled, epochs=6))
    assert same_weights(eager, compiled)
    step = compiled.step
    assert step is not None
    assert step.replays.count > 0
    assert not step.replays.refused
    assert not any(ran.reason for ran in step.last)
    assert not same_weights(eager, _trained(make_task())), "the settings make a difference"


def _trained(task: Clouds) -> Clouds:
    list(fit.fit(task, epochs=6, compile=False))
    return task


def test_steps_with_all_settings_have_no_graph_break() -> None:
    task = make_task(**SETTINGS["all"])
    batch = next(iter(task.setup().train))
    assert explain(StepFunctions(task, compile=True).train, repeat=1)(task, batch).breaks == ()


def test_accumulation_equals_a_larger_batch() -> None:
    large, small = make_task(Plain, batch_size=30), make_task(Plain, batch_size=10, accumulate=3)
    for task in (large, small):
        list(fit.fit(task, epochs=4))
    for one, other in zip(weights(large).values(), weights(small).values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    rest = make_task(Plain, batch_size=25, accumulate=2)  # 25 + 25 and 10: the last batch of an epoch ends its group
    steps = (event for event in fit.fit(rest, epochs=1) if isinstance(event, fit.Step))
    changes = [rest.model.weight.tolist() for _ in steps]
    assert changes[0] != changes[1] != changes[2]
    assert rest.sgd.steps == 2


def test_two_optimizers_accumulate_separately() -> None:
    class Two(Plain):
        def configure(self) -> None:
            super().configure()
            self.model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 3))
            self.sgd = optim.SGD(self.model[0].parameters(), lr=0.1)
            self.second = optim.SGD(self.model[1].parameters(), lr=0.1)

        def losses(self, batch: Any) -> dict[Any, Any]:
            points, labels = batch
            loss = self.criterion(self.model(points), labels)
            return {self.sgd: loss, self.second: loss * -0.5}

    large, small = make_task(Two, batch_size=60), make_task(Two, batch_size=20, accumulate=3)
    for task in (large, small):
        list(fit.fit(task, epochs=3))
    for one, other in zip(weights(large).values(), weights(small).values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_clipping_bounds_the_change_of_a_step() -> None:
    for settings in ({"clip_norm": 1e-3}, {"clip_value": 1e-3}):
        task = make_task(Plain, **settings)
        task.setup()
        before = np.concatenate([value.ravel() for value in weights(task).values()])
        list(fit.fit(task, steps=1))
        change = np.concatenate([value.ravel() for value in weights(task).values()]) - before
        size = np.linalg.norm(change) if "clip_norm" in settings else np.abs(change).max()
        assert size == pytest.approx(0.1 * 1e-3, rel=0.05)


def test_schedules_step_per_epoch_or_per_batch() -> None:
    class Scheduled(Plain):
        per_step = ("each_step",)
        accumulate = 2

        def configure(self) -> None:
            super().configure()
            self.each_epoch = lr_scheduler.StepLR(self.sgd, 2, gamma=0.5)
            self.each_step = lr_scheduler.ExponentialLR(self.sgd, 0.9)

    events = list(fit.fit(make_task(Scheduled), epochs=3))
    rates = [event.learning_rate for event in events if isinstance(event, fit.Step)]
    updates = [number // 2 for number in range(12)]  # 4 batches an epoch
    halved = [0.5 ** (number // 8) for number in range(12)]
    assert rates == pytest.approx([0.1 * 0.9**n * half for n, half in zip(updates, halved, strict=True)])


def test_one_cycle_and_plateau() -> None:
    class Scheduled(Plain):
        def configure(self) -> None:
            super().configure()
            self.cycle = lr_scheduler.OneCycleLR(self.sgd, 0.4, total_steps=9)

    task = make_task(Scheduled)
    list(fit.fit(task, epochs=2))
    assert task.cycle.last_epoch == 8

    class Waiting(Plain):
        def configure(self) -> None:
            super().configure()
            self.waiting = lr_scheduler.ReduceLROnPlateau(self.sgd, patience=0, threshold=10.0, threshold_mode="abs")

    events = list(fit.fit(make_task(Waiting), epochs=3))
    assert [round(event.learning_rate, 6) for event in events if isinstance(event, fit.Epoch)] == [0.1, 0.1, 0.01]


def test_schedules_do_not_stop_replay() -> None:
    class Scheduled(Clouds):
        per_step = ("decay",)

        def configure(self) -> None:
            super().configure()
            self.decay = lr_scheduler.ExponentialLR(self.adam, 0.99)

    eager, compiled = make_task(Scheduled), make_task(Scheduled)
    list(fit.fit(eager, epochs=4, compile=False))
    with bitwise():
        list(fit.fit(compiled, epochs=4))
    assert same_weights(eager, compiled)
    assert compiled.step is not None
    assert compiled.step.replays.count >= 8


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
@pytest.mark.parametrize("compile", [True, False])
def test_mixed_precision(precision: str, compile: bool) -> None:
    seen = set()

    class Watched(Clouds):
        mixed_precision = precision

        def losses(self, batch: Any) -> dict[Any, Any]:
            points, _ = batch
            seen.add(self.model[0](points).dtype)
            return super().losses(batch)

    task = Watched(seed=1)
    epochs = [event for event in fit.fit(task, epochs=6, compile=compile) if isinstance(event, fit.Epoch)]
    assert seen == {getattr(engine, precision)}
    assert epochs[-1].val_loss < epochs[0].val_loss
    assert all(parameter.dtype is engine.float32 for parameter in task.model.parameters())
    assert (task.scaler is not None) is (precision == "float16")


def test_overflow_skips_a_step() -> None:
    task = make_task(mixed_precision="float16")
    training = fit.fit(task, steps=3)
    next(training)
    assert task.scaler is not None
    task.scaler._scale = 2.0**126
    before = weights(task)
    next(training)
    after = weights(task)
    assert np.array_equal(before["0.weight"], after["0.weight"])
    assert task.scaler.get_scale() == 2.0**125


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"accumulate": 0}, "accumulate must be at least 1"),
        ({"clip_norm": 0.0}, "clip_norm must be above 0"),
        ({"clip_value": math.nan}, "clip_value must be above 0"),
        ({"mixed_precision": "float8"}, "mixed_precision must be"),
    ],
)
def test_refused_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_task(**settings).setup()

    class Searching(Plain):
        accumulate = 2

        def configure(self) -> None:
            super().configure()
            self.sgd = optim.LBFGS(self.model.parameters())

    with pytest.raises(ValueError, match="evaluates the loss of a batch several times"):
        Searching().setup()
