"""Undone and repeated steps: a training with them has the bits of one without."""

from __future__ import annotations

from typing import Any

import pytest

import engine
from engine import data, fit, metrics, nn, optim
from engine.data import transforms
from engine.io.checkpoint import dumps
from engine.nn import functional
from engine.optim import lr_scheduler


class Digits(fit.Task):
    def data(self) -> Any:
        return data.Batches(data.Digits().map(transforms.Normalize(0.0, 16.0)), batch_size=64)

    def configure(self) -> None:
        self.model = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 10)
        )
        self.accuracy = metrics.Accuracy()
        self.adam = optim.Adam(self.model.parameters(), lr=0.01)
        self.cycle = lr_scheduler.OneCycleLR(self.adam, max_lr=0.02, total_steps=200)

    def losses(self, batch: Any) -> Any:
        images, labels = batch
        logits = self.model(images)
        self.measure(self.accuracy, logits, labels)
        return {self.adam: functional.cross_entropy(logits, labels)}


class Accumulating(Digits):
    accumulate = 3
    clip_norm = 0.5


def trained(kind: type[Digits], undo: tuple[int, ...], rewind: fit.StepRewind | None, *, compile: bool) -> Any:
    training = fit.fit(kind(seed=3), steps=27, validate_steps=7, compile=compile, rewind=rewind)
    losses: list[float] = []
    for event in training:
        if isinstance(event, fit.Step):
            losses.append(event.loss)
            if event.step in undo:
                before = training.step
                assert training.undo_step() and training.step == before - 1
                assert training.last_batch is not None
                training.redo_step()
                assert training.step == before
        if isinstance(event, fit.Epoch | fit.Validated):
            losses += [event.val_loss or 0.0, *event.val_metrics.values()]
    state = training.state_dict()
    state.pop("seconds")
    return losses, dumps(state, "state")


@pytest.mark.parametrize(("kind", "compile"), [(Digits, False), (Accumulating, False), (Accumulating, True)])
def test_undone_steps_do_not_change_the_bits(kind: type[Digits], compile: bool) -> None:
    plain = trained(kind, (), None, compile=compile)
    assert trained(kind, (1, 2, 9, 23, 27), fit.StepRewind(), compile=compile) == plain
    assert trained(kind, (5,), fit.StepRewind(every_step=True), compile=compile) == plain


def test_the_state_of_an_undone_step_is_that_before_it() -> None:
    training = fit.fit(Digits(seed=3), steps=30, rewind=fit.StepRewind(share=0.0))
    states: dict[int, Any] = {0: None}
    for event in training:
        if isinstance(event, fit.Step):
            if event.step == 20:
                assert len(training.rewind.steps) == 20  # type: ignore[union-attr]
                training.undo_step()
                weights = {name: value.numpy().tobytes() for name, value in training.task.model.state_dict().items()}
                assert training.state_dict()["step"] == 19
                assert weights == states[19]
                break
            model = training.task.model
            states[event.step] = {name: value.numpy().tobytes() for name, value in model.state_dict().items()}


def test_large_states_are_not_copied() -> None:
    training = fit.fit(Digits(seed=3), steps=3, rewind=fit.StepRewind(max_bytes=100))
    for event in training:
        assert not isinstance(event, fit.Step) or not training.undo_step()


def test_copies_take_a_share_of_the_time() -> None:
    """A copy of 10 ms, and steps of 5 ms: 0.3 % of the time is a copy in 256 steps at most, and 20 % one in 10."""
    for share, expected in ((0.003, 256), (0.2, 10)):
        seconds = [0.0]

        def clock(seconds: list[float] = seconds) -> float:
            return seconds[0]

        task = Digits(seed=1)
        task.setup()
        rewind = fit.StepRewind(share=share, clock=clock)
        copies, position = list[int](), {"epoch": 0, "step": 0, "batch": 1}
        rewind._cost = 0.01
        for step in range(400):
            seconds[0] += 0.005
            rewind.record(task, {**position, "step": step}, engine.zeros(4), ())
            rewind._cost = 0.01
            if len(rewind.steps) == 1:
                copies.append(step)
        assert copies[1] - copies[0] == expected
