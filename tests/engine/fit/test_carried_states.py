"""Training with a carried state: epochs, validation, resume, compiled steps, closures, trial runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import data, fit, nn, optim
from engine.data.splits import ArraySplits
from engine.errors import WeightsError
from engine.fit.carried_states import restore_states, save_states
from engine.nn.utils import carried_states
from tests.engine.fit.test_resume import assert_resumable

ROWS = 4


def series(count: int) -> tuple[np.ndarray, np.ndarray]:
    steps = np.sin(np.arange(count * 3 + 1, dtype=np.float32) / 3)
    return steps[:-1].reshape(count, 3, 1), steps[1:].reshape(count, 3, 1)


class Net(nn.Module):
    def __init__(self, *, carry: bool) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, 6, 2, batch_first=True, dropout=0.2, carry_state=carry)
        self.memory = nn.CarriedState(6)
        self.cell = nn.GRUCell(6, 6)
        self.scores = nn.Linear(6, 1)

    def forward(self, x: Any) -> Any:
        features = self.lstm(x)[0]
        kept = self.memory(value=self.cell(features[:, -1], self.memory(x)))
        return self.scores(features + kept.unsqueeze(1))


class Forecast(fit.Task):
    carry = True

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.replay_classes = (*type(self).__mro__[:-3], Net)

    def data(self) -> data.Batches:
        return data.Batches(ArraySplits(series(30), series(10)), ROWS, contiguous=True)

    def configure(self) -> None:
        self.model = Net(carry=self.carry)
        self.criterion = nn.MSELoss()
        self.adam: Any = optim.Adam(self.model.parameters(), lr=0.02)

    def losses(self, batch: Any) -> dict[Any, Any]:
        x, y = batch
        return {self.adam: self.criterion(self.model(x), y)}


class Closures(Forecast):
    def configure(self) -> None:
        super().configure()
        self.adam = optim.LBFGS(self.model.parameters(), lr=0.1, max_iter=3)


class Half(Forecast):
    mixed_precision = "bfloat16"
    accumulate = 2


@pytest.mark.parametrize(("kind", "compile"), [(Forecast, True), (Forecast, False), (Half, True), (Closures, True)])
def test_a_run_resumes_after_any_event(kind: type[Forecast], compile: bool) -> None:
    positions = range(1, 26, 1 if kind is Forecast else 6)
    assert_resumable(lambda: kind(seed=1), positions, epochs=2, validate_steps=3, compile=compile)


def losses(task: fit.Task, **options: Any) -> list[float]:
    found = (event for event in fit.fit(task, **options) if isinstance(event, (fit.Step, fit.Epoch)))
    return [value for each in found for value in ([each.loss] if isinstance(each, fit.Step) else [each.val_loss or 0])]


@pytest.mark.parametrize("kind", [Forecast, Closures])
def test_compiled_steps_equal_eager_ones_and_replay(kind: type[Forecast]) -> None:
    compiled = kind(seed=1)
    eager = losses(kind(seed=1), epochs=3, compile=False)
    assert losses(compiled, epochs=3) == pytest.approx(eager, rel=1e-4)  # kernels of layers may round differently
    if kind is Forecast:
        assert compiled.step is not None and compiled.step.replays.count > 10
        assert not compiled.step.report.breaks


def test_validation_within_an_epoch_leaves_the_training_state_alone() -> None:
    plain = [event.loss for event in fit.fit(Forecast(seed=1), epochs=2) if isinstance(event, fit.Step)]
    task = Forecast(seed=1)
    assert [e.loss for e in fit.fit(task, epochs=2, validate_steps=2) if isinstance(e, fit.Step)] == plain


def test_training_and_validation_start_from_zero() -> None:
    task = Forecast(seed=1)
    starts: list[tuple[bool, bool]] = []
    task.setup()

    def watch(module: nn.Module, inputs: Any) -> None:
        starts.append((module.training, task.model.memory.kept is None or not task.model.memory.kept.any()))

    task.model.register_forward_pre_hook(watch)
    for _ in fit.fit(task, epochs=2, compile=False):
        pass
    training, validation = [True, *[False] * 6], [True, False]
    assert [zero for mode, zero in starts if mode] == training * 2
    assert [zero for mode, zero in starts if not mode] == validation * 2


def test_carrying_the_state_changes_the_losses_from_the_second_batch_on() -> None:
    class Reset(Forecast):
        carry = False

    one, other = losses(Forecast(seed=1), epochs=1), losses(Reset(seed=1), epochs=1)
    assert one[0] == other[0] and one[1] != other[1]


def kept(task: fit.Task) -> dict[str, np.ndarray]:
    return {path: state.kept.numpy().copy() for path, state in carried_states(task.model) if state.kept is not None}


def test_trial_runs_restore_the_state() -> None:
    task = Forecast(seed=1)
    training = fit.fit(task, epochs=2)
    steps = 0
    while steps < 3:
        steps += isinstance(next(training), fit.Step)
    before = kept(task)
    assert len(before) == 3 and all(value.any() for value in before.values())
    list(fit.overfit_one_batch(task, steps=3))
    list(fit.find_rate(task, steps=5))
    after = kept(task)
    assert all(np.array_equal(after[path], value) for path, value in before.items())


def test_a_state_of_another_size_is_refused() -> None:
    task = Forecast(seed=1)
    task.setup()
    task.model.memory.keep(engine.ones(4, 6))
    saved = save_states(task)
    assert list(saved["model"]) == ["memory"]
    saved["model"]["memory"] = engine.ones(4, 7)
    with pytest.raises(WeightsError, match=r"state of 4×7 for memory, which is a CarriedState\(size=\(6,\)\)"):
        restore_states(task, saved)
