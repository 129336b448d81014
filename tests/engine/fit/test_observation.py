"""Observations: they measure layers, change no bit of a training, and take a small share of its time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import engine
from engine import fit, nn, optim
from engine.fit.observation import ALLOWANCE, MAX_SHARE, Observer
from tests.engine.fit.clouds import Clouds, same_weights, weights


class Second(Clouds):
    """Two optimizers with different losses of the same layers."""

    def configure(self) -> None:
        super().configure()
        self.adam = optim.Adam(self.model[0].parameters(), lr=0.05)
        self.sgd = optim.SGD(self.model[4].parameters(), lr=0.1, momentum=0.9)

    def losses(self, batch: Any) -> dict[Any, Any]:
        points, labels = batch
        logits = self.model(points)
        self.measure(self.accuracy, logits, labels)
        loss = self.criterion(logits, labels)
        return {self.adam: loss, self.sgd: -loss.clamp(max=2.0)}


class LineSearch(Clouds):
    """An optimizer that evaluates the loss several times."""

    def configure(self) -> None:
        super().configure()
        self.adam = optim.LBFGS(self.model.parameters(), lr=0.1, max_iter=3)


VARIANTS: dict[str, tuple[type[Clouds], dict[str, Any]]] = {
    "plain": (Clouds, {}),
    "two optimizers": (Second, {}),
    "line search": (LineSearch, {}),
    "accumulated and clipped": (Clouds, {"accumulate": 3, "clip_norm": 0.1}),
    "bfloat16": (Clouds, {"mixed_precision": "bfloat16"}),
    "float16": (Clouds, {"mixed_precision": "float16"}),
}


def made(kind: type[Clouds] = Clouds, **settings: Any) -> Clouds:
    return type("Made", (kind,), settings)(seed=1)


@pytest.fixture(autouse=True)
def _observe_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if observations took no time, so that their steps do not depend on the machine."""
    monkeypatch.setattr("engine.fit.observation.ALLOWANCE", 1e9)
    monkeypatch.setattr("engine.fit.observation.MIN_INTERVAL", 1)


@pytest.mark.parametrize("compile", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_results_are_bit_identical(variant: str, compile: bool) -> None:
    kind, settings = VARIANTS[variant]
    plain, observed = made(kind, **settings), made(kind, **settings)
    before = [event for event in fit.fit(plain, epochs=2, compile=compile) if isinstance(event, fit.Step)]
    events = list(fit.fit(observed, epochs=2, compile=compile, observe=True))
    assert [event.step for event in events if isinstance(event, fit.Observed)][:4] == [1, 2, 3, 5]
    assert same_weights(plain, observed)
    after = [event for event in events if isinstance(event, fit.Step)]
    assert [(each.losses, each.metrics) for each in before] == [(each.losses, each.metrics) for each in after]
    if compile and plain.step is not None and observed.step is not None:
        assert plain.step.replays.count == observed.step.replays.count
        assert len(plain.step.plans) == len(observed.step.plans), "observations record nothing"


def test_resumed_trainings_are_observed_and_bit_identical() -> None:
    whole, first, second = made(), made(), made()
    list(fit.fit(whole, epochs=4))
    training = fit.fit(first, epochs=4, observe=True)
    for event in training:
        if isinstance(event, fit.Observed) and event.step == 5:
            break
    resumed = fit.fit(second, epochs=4, observe=True)
    resumed.load_state_dict(training.state_dict())
    observed = [event.step for event in resumed if isinstance(event, fit.Observed)]
    assert observed[0] == 6
    assert same_weights(whole, second)


def test_figures_equal_those_of_numpy() -> None:
    task = made()
    task.setup()
    before = weights(task)
    events = fit.fit(task, steps=1, observe=True)
    [observed] = [event for event in events if isinstance(event, fit.Observed)]
    assert {"0", "1", "2", "3", "4"} <= set(observed.layers)
    figures = observed.parameters["0.weight"]
    change = weights(task)["0.weight"] - before["0.weight"]
    assert figures["norm"] == pytest.approx(np.linalg.norm(before["0.weight"]), rel=1e-5)
    assert figures["update"] == pytest.approx(np.linalg.norm(change), rel=1e-4)
    assert figures["gradient"] > 0
    assert figures["gradient_zeros"] == 0
    assert observed.layers["2"]["units"] == 8


class Saturated(Clouds):
    """Half of the rectified units never fire, and all sigmoids are saturated."""

    def configure(self) -> None:
        super().configure()
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4), nn.Sigmoid(), nn.Linear(4, 3))
        with engine.no_grad():
            self.model[0].bias[:4] = -1e4
            self.model[2].bias[:] = 1e4
        self.adam = optim.SGD(self.model.parameters(), lr=1e-6)


def test_dead_and_saturated_units_are_counted() -> None:
    events = fit.fit(made(Saturated), epochs=2, observe=True)
    last = [event for event in events if isinstance(event, fit.Observed)][-1]
    assert last.layers["1"]["dead"] >= 0.5
    assert last.layers["3"]["saturated"] == 1.0
    assert last.parameters["0.weight"]["gradient"] == 0.0


class Channels(Clouds):
    """Units after a convolution are channels, also of sequences."""

    def configure(self) -> None:
        super().configure()
        conv = nn.Conv1d(1, 4, 3, padding=1)
        with engine.no_grad():
            conv.bias[:3] = -1e4
        self.model = nn.Sequential(nn.Unflatten(1, (1, 4)), conv, nn.ReLU(), nn.Flatten(), nn.Linear(16, 3))
        self.adam = optim.SGD(self.model.parameters(), lr=1e-6)


def test_dead_units_of_convolutions_are_channels() -> None:
    events = fit.fit(made(Channels), steps=2, observe=True)
    last = [event for event in events if isinstance(event, fit.Observed)][-1]
    assert (last.layers["2"]["dead"], last.layers["2"]["units"]) == (0.75, 4)


def test_observations_stay_within_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.fit.observation.ALLOWANCE", ALLOWANCE)
    now = 0.0

    def clock() -> float:
        return now

    observer, spent = Observer(made(), clock=clock), 0.0
    observer._task.setup()
    batch = next(iter(observer._task.setup().train))
    for step in range(1, 20_001):
        if observer.is_due(step, 0.001):
            observation = observer.observe(batch, step)
            assert observation is not None
            now += 0.01
            observer._last_seconds = 0.01
            observer.finish(observation)
            spent += 0.01
        now += 0.001
    assert 8 * 0.01 < spent <= MAX_SHARE * now + ALLOWANCE + 2 * 0.01


def test_a_failing_observation_ends_observing_but_not_training() -> None:
    class Small(Clouds):
        def losses(self, batch: Any) -> dict[Any, Any]:
            if self.model[0]._hooks is not None:
                raise MemoryError
            return super().losses(batch)

    plain, observed = made(), made(Small)
    list(fit.fit(plain, epochs=2))
    assert not any(isinstance(event, fit.Observed) for event in fit.fit(observed, epochs=2, observe=True))
    assert same_weights(plain, observed)
    assert observed.model[0]._hooks is None


def test_hooks_of_the_user_run_during_observations_and_stay() -> None:
    def calls(*, observe: bool) -> Iterator[str]:
        task = made()
        task.setup()
        found: list[str] = []
        task.model[0].register_forward_hook(lambda *_: found.append("call"))
        list(fit.fit(task, steps=2, compile=False, observe=observe))
        yield from found

    assert len(list(calls(observe=True))) == len(list(calls(observe=False))) + 2
