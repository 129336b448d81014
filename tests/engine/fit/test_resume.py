from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import engine
from engine import fit, nn, optim
from engine.errors import WeightsError
from engine.optim import lr_scheduler
from engine.registry import OPTIMIZERS, RegistryEntry
from tests.engine.fit.clouds import Clouds, same_weights

TIMES = ("seconds", "samples_per_second", "waiting", "ended")


def comparable_fields(event: fit.TrainingEvent) -> dict[str, Any] | None:
    """The fields of an event without times; None for events that only report progress."""
    if isinstance(event, (fit.Started, fit.CompileState, fit.ValidationStep)):
        return None
    fields = {name: getattr(event, name) for name in type(event).__slots__ if name not in TIMES}
    return {"event": type(event).__name__, **fields}


def through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    file = io.BytesIO()
    engine.save(state, file)
    file.seek(0)
    return engine.load(file)


def assert_resumable(make: Callable[[], fit.Task], positions: range | None = None, **options: Any) -> None:
    """Check that a run that a new task resumes after any event gives the same numbers."""
    uninterrupted = make()
    training = fit.fit(uninterrupted, **options)
    records, states = [], []
    for event in training:
        records.append(comparable_fields(event))
        states.append(training.state_dict() if not isinstance(event, fit.Done) else None)
    for position in positions or range(len(records) - 1):
        resumed_task = make()
        engine.manual_seed(position)
        resumed = fit.fit(resumed_task, **options)
        resumed.load_state_dict(through_a_file(states[position]))
        rest = [comparable_fields(event) for event in resumed]
        expected = [one for one in records[position + 1 :] if one is not None]
        assert [one for one in rest if one is not None] == expected, position
        assert same_weights(uninterrupted, resumed_task), position


@pytest.fixture(autouse=True)
def _restored_random_state() -> Iterator[None]:
    state = engine.random.get_rng_state()
    yield
    engine.random.set_rng_state(state)


class Scheduled(Clouds):
    accumulate = 3
    clip_norm = 0.5
    clip_value = 0.2
    per_step = ("steps",)

    def configure(self) -> None:
        super().configure()
        self.steps = lr_scheduler.ExponentialLR(self.adam, 0.97)
        self.epochs = lr_scheduler.ReduceLROnPlateau(self.adam, patience=0)


def test_run_resumes_after_any_event() -> None:
    assert_resumable(lambda: Clouds(seed=1), epochs=2, validate_steps=3)


@pytest.mark.parametrize("compile", [True, False])
def test_accumulation_clipping_and_schedules_are_resumed(compile: bool) -> None:
    assert_resumable(lambda: Scheduled(seed=1), range(1, 18, 5), epochs=3, validate_epochs=2, compile=compile)


def test_early_stopping_is_resumed() -> None:
    stopping = fit.EarlyStopping(patience=1, min_change=0.3)
    assert_resumable(lambda: Clouds(seed=1), range(3, 15, 5), epochs=50, early_stopping=stopping)


def test_run_that_ended_within_an_epoch_continues() -> None:
    uninterrupted, interrupted, rest = Clouds(seed=4), Clouds(seed=4), Clouds(seed=4)
    list(fit.fit(uninterrupted, steps=7))
    first = fit.fit(interrupted, steps=2)
    list(first)
    second = fit.fit(rest, steps=7)
    second.load_state_dict(first.state_dict())
    list(second)
    assert same_weights(uninterrupted, rest)


@pytest.mark.parametrize("entry", OPTIMIZERS, ids=lambda entry: entry.key)
def test_every_optimizer_is_resumed(entry: RegistryEntry) -> None:
    class With(Clouds):
        def configure(self) -> None:
            super().configure()
            del self.adam
            matrices = [parameter for parameter in self.model.parameters() if parameter.ndim == 2]
            self.optimizer = entry.target(matrices if entry.key == "optim.Muon" else self.model.parameters())

    assert_resumable(lambda: With(seed=2), range(5, 12, 6), steps=7)


def test_non_persistent_buffers_are_restored() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", engine.zeros(()), persistent=False)

        def forward(self, input: Any) -> Any:
            if self.training:
                self.calls.add_(1)
            return input + self.calls * 0.01

    class With(Clouds):
        def configure(self) -> None:
            super().configure()
            self.model.add_module("counting", Counting())

    assert_resumable(lambda: With(seed=2), range(5, 6), steps=8)


def test_random_numbers_of_the_receiver_do_not_affect_training() -> None:
    def trained(draws: bool) -> fit.Task:
        task = Clouds(seed=1)
        for _ in fit.fit(task, epochs=2):
            if draws:
                engine.rand(5)
        return task

    assert same_weights(trained(True), trained(False))
    engine.manual_seed(7)
    first = engine.rand(3).tolist()
    engine.manual_seed(7)
    list(fit.fit(Clouds(), steps=1))
    assert engine.rand(3).tolist() == first


def test_error_for_a_checkpoint_of_another_model() -> None:
    class Wider(Clouds):
        def configure(self) -> None:
            super().configure()
            self.model[0] = nn.Linear(4, 9)
            self.model.add_module("more", nn.Linear(3, 3))
            self.adam = optim.Adam(self.model.parameters())

    training = fit.fit(Clouds(), steps=1)
    list(training)
    state = training.state_dict()
    other = Wider()
    before = {name: value.tolist() for name, value in weights_by_name(other).items()}
    message = (
        r"does not fit model: 7 fit; different shape: 0\.weight has 9×4, the checkpoint 8×4, "
        r"0\.bias has 9, the checkpoint 8"
    )
    with pytest.raises(WeightsError, match=message):
        fit.fit(other, steps=1).load_state_dict(state)
    assert {name: value.tolist() for name, value in weights_by_name(other).items()} == before
    result = fit.load_matching(other.model, state["task"]["modules"]["model"])
    assert set(result.missing) == {"more.weight", "more.bias"}
    assert other.model[4].weight.tolist() == state["task"]["modules"]["model"]["4.weight"].tolist()

    class Two(Clouds):
        def configure(self) -> None:
            super().configure()
            self.second = optim.SGD(self.model.parameters())

    with pytest.raises(WeightsError, match="optimizers adam, second, but the checkpoint adam"):
        fit.fit(Two(), steps=1).load_state_dict(state)


def weights_by_name(task: fit.Task) -> dict[str, Any]:
    task.setup()
    return task.model.state_dict()


def test_training_can_be_reset_to_an_earlier_state() -> None:
    """Replayed steps do not use tensors that have been freed."""
    task = Clouds(seed=1)
    training = fit.fit(task, steps=8)
    events = [next(training) for _ in range(4)]
    state = training.state_dict()
    first = [comparable_fields(event) for event in training]
    assert task.step is not None and task.step.replays.count > 0
    training = fit.fit(task, steps=8)
    training.load_state_dict(state)
    again = [comparable_fields(event) for event in training]
    assert [one for one in again if one] == [one for one in first if one]
    assert len(events) == 4


def test_other_threads_draw_separate_random_numbers() -> None:
    """For example `explain` of another task's step, which seeds and draws during this training."""
    alone, disturbed = Clouds(seed=1), Clouds(seed=1)
    list(fit.fit(alone, epochs=3))
    for _ in fit.fit(disturbed, epochs=3):
        other = threading.Thread(target=lambda: (engine.manual_seed(3), engine.rand(7)))
        other.start()
        other.join()
    assert same_weights(alone, disturbed)
    drawing = threading.Event(), threading.Event()

    class Watched(Clouds):
        def losses(self, batch: Any) -> dict[Any, Any]:
            drawing[0].set()
            drawing[1].wait(60)
            return super().losses(batch)

    def disturb() -> None:
        drawing[0].wait(60)
        engine.manual_seed(3)
        engine.rand(7)
        drawing[1].set()

    within = Watched(seed=1)
    other = threading.Thread(target=disturb)
    other.start()
    list(fit.fit(within, epochs=3))
    other.join()
    assert same_weights(alone, within)


def test_second_training_of_a_task_draws_the_same_numbers() -> None:
    """It uses the compiled steps of the first training."""
    task = Clouds(seed=1)
    first = fit.fit(task, steps=12)
    events = [next(first)]
    state = first.state_dict()
    events += list(first)
    second = fit.fit(task, steps=12)
    second.load_state_dict(state)
    assert [comparable_fields(event) for event in second if comparable_fields(event)] == [
        comparable_fields(e) for e in events if comparable_fields(e)
    ]
