"""Training with data of unknown length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from engine import data, fit, from_numpy
from engine.errors import DataError
from engine.optim import lr_scheduler
from tests.engine.fit.clouds import Clouds, clouds, same_weights
from tests.engine.fit.test_resume import assert_resumable, comparable_fields


class Points(data.IterableDataset):
    """The points of `clouds`, one after the other."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[Any]:
        points, labels = clouds(self.count)
        return ((from_numpy(point), int(label)) for point, label in zip(points, labels, strict=True))


class StreamWithLength(Points):
    """A stream with a wrong length."""

    def __len__(self) -> int:
        return self.count + 40


class SinglePassStream(data.IterableDataset):
    """A stream that can be read only once."""

    def __init__(self, count: int) -> None:
        self._rest = iter(Points(count))

    def __iter__(self) -> Iterator[Any]:
        return self._rest


class Streamed(Clouds):
    source: Any = Points(60)
    held: Any = Points(30)
    drop_last = False

    def data(self) -> data.Loaders:
        loaders = [
            data.DataLoader(each, self.batch_size, drop_last=self.drop_last) for each in (self.source, self.held)
        ]
        return data.Loaders(*loaders)


class Counted(Clouds):
    """The same samples in the same order, by number."""

    def data(self) -> data.Loaders:
        train, held = (data.ArraySplits(clouds(count)).train for count in (60, 30))
        return data.Loaders(data.DataLoader(train, self.batch_size), data.DataLoader(held, self.batch_size))


def with_averaging(kind: type[Clouds]) -> type[Clouds]:
    class Averaging(kind):
        accumulate = 3
        per_step = ("steps",)

        def configure(self) -> None:
            super().configure()
            self.steps = lr_scheduler.ExponentialLR(self.adam, 0.97)

    return Averaging


def event_records(training: fit.Training) -> list[dict[str, Any]]:
    return [result for event in training if (result := comparable_fields(event)) is not None]


@pytest.mark.parametrize("averaging", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 3},
        {"steps": 10},
        {"steps": 8},
        {"epochs": 2, "validate_steps": 2},
        {"epochs": 3, "validate_epochs": 2},
    ],
    ids=str,
)
def test_stream_trains_like_a_sized_data_set(options: dict[str, Any], averaging: bool) -> None:
    kinds = [with_averaging(kind) if averaging else kind for kind in (Streamed, Counted)]
    stream, counted = (kind(seed=1) for kind in kinds)
    actual, expected = (event_records(fit.fit(task, compile=False, **options)) for task in (stream, counted))
    assert [{**each, "batches": 0} for each in actual] == [{**each, "batches": 0} for each in expected]
    assert same_weights(stream, counted)


def test_compiled_stream_trains_like_a_sized_data_set() -> None:
    stream, counted = with_averaging(Streamed)(seed=1), with_averaging(Counted)(seed=1)
    for task in (stream, counted):
        list(fit.fit(task, epochs=2))
    assert same_weights(stream, counted)


def test_batch_count_is_known_after_the_first_epoch() -> None:
    events = list(fit.fit(Streamed(), epochs=2))
    started = events[0]
    assert isinstance(started, fit.Started)
    assert (started.batches, started.train_samples, started.validation_samples) == (None, None, None)
    assert [event.batches for event in events if isinstance(event, fit.Epoch)] == [4, 4]
    assert {event.batches for event in events if isinstance(event, fit.ValidationStep)} == {None}


def test_epoch_cut_off_by_the_step_limit_sets_no_batch_count() -> None:
    [epoch] = [event for event in fit.fit(Streamed(), steps=3) if isinstance(event, fit.Epoch)]
    assert (epoch.epoch, epoch.batches) == (1, None)


def test_a_resumed_run_has_the_metrics_of_the_first_epoch() -> None:
    first = fit.fit(Streamed(), epochs=3)
    for event in first:
        if isinstance(event, fit.Step) and event.step == 6:
            break
    second = fit.fit(Streamed(), epochs=3)
    second.load_state_dict(first.state_dict())
    started = next(second)
    assert isinstance(started, fit.Started)
    assert (started.batches, started.epoch, started.step) == (4, 1, 6)


def test_wrong_length_is_ignored() -> None:
    class Wrong(Streamed):
        source = StreamWithLength(60)

    events = list(fit.fit(Wrong(), epochs=1))
    assert isinstance(events[0], fit.Started)
    assert events[0].batches == 7
    assert [event.batches for event in events if isinstance(event, fit.Epoch)] == [4]


@pytest.mark.parametrize("averaging", [False, True])
def test_run_on_a_stream_resumes_after_any_event(averaging: bool) -> None:
    kind = with_averaging(Streamed) if averaging else Streamed
    assert_resumable(lambda: kind(seed=1), epochs=2, validate_steps=2, compile=False)


def test_a_step_is_reported_before_the_next_batch_arrives() -> None:
    """If the stream is slower than the training, progress is still reported."""
    asked: list[int] = []

    class Slow(Points):
        def __iter__(self) -> Iterator[Any]:
            for number, sample in enumerate(super().__iter__()):
                asked.append(number)
                yield sample

    class Patient(Streamed):
        source = Slow(60)

    training = fit.fit(Patient(), epochs=1)
    for event in training:
        if isinstance(event, fit.Step):
            break
    assert len(asked) == 16


@pytest.mark.parametrize(
    ("source", "held", "drop_last", "message"),
    [
        (Points(0), Points(3), False, "training samples gave no batch in epoch 1. Choose other data"),
        (
            Points(9),
            Points(3),
            True,
            "gave no batch in epoch 1. It ended before a batch of 16 was complete. Lower batch_size",
        ),
        (
            SinglePassStream(60),
            Points(3),
            False,
            "gave no batch in epoch 2. A stream must restart when it is iterated again",
        ),
        (Points(60), Points(0), False, "validation samples gave no batch in epoch 1. Choose other data"),
    ],
)
def test_a_stream_without_samples_is_an_error(source: Any, held: Any, drop_last: bool, message: str) -> None:
    class Empty(Streamed):
        pass

    Empty.source, Empty.held, Empty.drop_last = source, held, drop_last
    with pytest.raises(DataError, match=message):
        list(fit.fit(Empty(), epochs=3))


def test_stream_supports_evaluation_and_trial_runs() -> None:
    [*steps, last] = fit.evaluate(Streamed())
    assert (len(steps), isinstance(last, fit.Validated)) == (2, True)
    assert len(list(fit.overfit_one_batch(Streamed(), steps=3))) == 3
    tried = [event for event in fit.find_rate(Streamed(), steps=9) if isinstance(event, fit.LearningRateTrial)]
    assert len(tried) > 4  # more than the stream has: it begins again
    assert np.isfinite([each.loss for each in tried[:4]]).all()
