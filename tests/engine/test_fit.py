from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import engine
from engine import data, fit, metrics, nn, optim
from engine.errors import DataError
from engine.fit.step_functions import compute_gradients, step_optimizers
from engine.random import Generator


def clouds(count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Three clouds of points."""
    labels = np.arange(count) % 3
    return (Generator(0).normal((count, 4)) + 2 * labels[:, None]).astype(np.float32), labels


class Clouds(fit.Task):
    validation = True
    batch_size = 16
    drop_last = False

    def data(self) -> data.Batches:
        splits = data.ArraySplits(clouds(), clouds(30) if self.validation else None)
        return data.Batches(splits, self.batch_size, drop_last=self.drop_last)

    def configure(self) -> None:
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
        self.criterion = nn.CrossEntropyLoss()
        self.accuracy = metrics.Accuracy()
        self.adam = optim.Adam(self.model.parameters(), lr=0.05)

    def losses(self, batch: Any) -> dict[Any, Any]:
        points, labels = batch
        logits = self.model(points)
        self.measure(self.accuracy, logits, labels)
        return {self.adam: self.criterion(logits, labels)}


@pytest.fixture(autouse=True)
def _restored_random_state() -> Iterator[None]:
    state = engine.random.get_rng_state()
    yield
    engine.random.set_rng_state(state)


def kinds(events: list[Any]) -> str:
    return "".join(type(event).__name__[0] for event in events if not isinstance(event, fit.CompileState))


def weights(task: fit.Task) -> list[np.ndarray]:
    return [parameter.detach().numpy().copy() for parameter in task.model.parameters()]


def test_order_and_contents_of_events() -> None:
    task = Clouds(seed=3)
    events = list(fit.fit(task, epochs=2))
    assert kinds(events) == "S" + ("SSSS" + "VV" + "E") * 2 + "D"
    started, done = events[0], events[-1]
    assert started == fit.Started(2, None, 4, 60, 30, 4 * 8 + 8 + 8 * 3 + 3, "cpu", 3, compiled=True)
    steps = [event for event in events if isinstance(event, fit.Step)]
    assert [(step.epoch, step.batch, step.step) for step in steps] == [(n // 4 + 1, n % 4 + 1, n + 1) for n in range(8)]
    assert all(step.losses == {"adam": step.loss} and step.finite for step in steps)
    assert all(step.samples_per_second > 0 and step.learning_rate == 0.05 for step in steps)
    first, second = (event for event in events if isinstance(event, fit.Epoch))
    sizes = [16, 16, 16, 12]
    assert first.train_loss == pytest.approx(np.average([step.loss for step in steps[:4]], weights=sizes))
    assert first.train_metrics == steps[3].metrics
    assert (first.epoch, first.step, second.epoch, second.step) == (1, 4, 2, 8)
    assert second.val_metrics["accuracy"] > 0.5
    assert second.train_loss < first.train_loss
    assert (done.epochs, done.steps, done.reason) == (2, 8, "epochs")
    assert done.seconds == pytest.approx(first.seconds + second.seconds)


def test_step_limit_within_an_epoch_still_validates() -> None:
    events = list(fit.fit(Clouds(), steps=6, epochs=5))
    assert kinds(events) == "S" + "SSSS" + "VV" + "E" + "SS" + "VV" + "E" + "D"
    assert (events[-2].epoch, events[-2].step) == (2, 6)
    assert events[-1].reason == "steps"
    assert (events[-1].epochs, events[-1].steps) == (1, 6)
    assert kinds(list(fit.fit(Clouds(), steps=4))) == "S" + "SSSS" + "VV" + "E" + "D"
    assert kinds(list(fit.fit(Clouds(), epochs=0))) == "SD"


def test_validation_metrics_cover_all_samples() -> None:
    task = Clouds()
    epoch = list(fit.fit(task, epochs=1))[-2]
    points, labels = clouds(30)
    task.model.eval()
    logits = task.model(engine.from_numpy(points)).detach()
    assert epoch.val_metrics["accuracy"] == pytest.approx((logits.numpy().argmax(1) == labels).mean())
    assert epoch.val_loss == pytest.approx(task.criterion(logits, engine.from_numpy(labels)).item(), rel=1e-5)


def test_without_validation_samples() -> None:
    class Unvalidated(Clouds):
        validation = False

    events = list(fit.fit(Unvalidated(), epochs=1))
    assert kinds(events) == "SSSSSED"
    assert events[0].validation_samples == 0
    assert (events[-2].val_loss, events[-2].val_metrics) == (None, {})


def test_the_same_seed_gives_the_same_weights() -> None:
    def trained(seed: int) -> list[np.ndarray]:
        task = Clouds(seed=seed)
        for _ in fit.fit(task, epochs=2):
            engine.rand(3)  # what the receiver of events draws does not matter at the next epoch
        return weights(task)

    a, b, other = trained(1), trained(1), trained(2)
    assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    assert not np.array_equal(a[0], other[0])


def test_run_can_continue_another() -> None:
    whole = Clouds(seed=1)
    losses = [event.loss for event in fit.fit(whole, epochs=3) if isinstance(event, fit.Step)]
    first = fit.fit(Clouds(seed=1), epochs=1)
    list(first)
    parts = Clouds(seed=1)
    second = fit.fit(parts, epochs=3)
    second.load_state_dict(first.state_dict())
    engine.manual_seed(99)
    rest = list(second)
    assert (rest[0].epoch, rest[0].step) == (1, 4)
    assert [event.loss for event in rest if isinstance(event, fit.Step)] == losses[4:]
    assert [event.step for event in rest if isinstance(event, fit.Step)] == list(range(5, 13))
    assert all(np.array_equal(x, y) for x, y in zip(weights(whole), weights(parts), strict=True))


def test_receiver_keeps_its_grad_mode_and_module_modes() -> None:
    task = Clouds()
    task.setup()
    task.model.eval()
    task.model[0].train()
    before = [module.training for module in task.model.modules()]
    for event in fit.fit(task, epochs=1):
        assert engine.is_grad_enabled()
        if isinstance(event, fit.ValidationStep):
            assert task.model.training, "validation is over when it is reported"
    assert [module.training for module in task.model.modules()] == before
    for stop in (fit.Step, fit.ValidationStep, fit.Epoch):
        events = fit.fit(task, epochs=5)
        next(event for event in events if isinstance(event, stop))
        events.close()
        assert [module.training for module in task.model.modules()] == before
        assert engine.is_grad_enabled()


def test_validation_is_in_eval_mode_without_gradients() -> None:
    seen: list[tuple[bool, bool]] = []

    class Watched(Clouds):
        def losses(self, batch: Any) -> dict[Any, Any]:
            seen.append((self.model.training, engine.is_grad_enabled()))
            return super().losses(batch)

    list(fit.fit(Watched(), epochs=1))
    assert seen == [(True, True)] * 4 + [(False, False)] * 2


def test_an_exception_restores_the_modes_too() -> None:
    class Failing(Clouds):
        def losses(self, batch: Any) -> dict[Any, Any]:
            raise RuntimeError("boom")

    task = Failing()
    task.setup()
    task.model.eval()
    with pytest.raises(RuntimeError, match="boom"):
        list(fit.fit(task, epochs=1))
    assert not task.model.training


def test_a_nan_loss_is_reported() -> None:
    class Broken(Clouds):
        def losses(self, batch: Any) -> dict[Any, Any]:
            return {optimizer: loss * float("nan") for optimizer, loss in super().losses(batch).items()}

    events = list(fit.fit(Broken(), epochs=1))
    steps = [event for event in events if isinstance(event, fit.Step)]
    assert all(not step.finite and math.isnan(step.loss) for step in steps)
    assert not events[-2].finite


def test_two_optimizers_each_minimize_their_loss() -> None:
    class Two(Clouds):
        def configure(self) -> None:
            super().configure()
            self.first = optim.SGD(self.model[0].parameters(), lr=0.1)
            self.second = optim.SGD(self.model[3].parameters(), lr=0.1)

        def losses(self, batch: Any) -> dict[Any, Any]:
            points, labels = batch
            logits = self.model(points)
            loss = self.criterion(logits, labels)
            return {self.first: loss, self.second: -loss}

    task = Two(seed=5)
    task.setup()
    task.model.eval()
    start = weights(task)
    points, labels = next(iter(task.setup().train))
    loss = task.criterion(task.model(points), labels)
    grads = engine.grad(loss, list(task.model.parameters()))
    result = task.losses((points, labels))
    compute_gradients(task, result)
    step_optimizers(task, result)
    for old, new, grad, sign in zip(start, weights(task), grads, (-1, -1, 1, 1), strict=True):
        np.testing.assert_allclose(new, old + sign * 0.1 * grad.numpy(), atol=1e-6)


def test_refused_arguments() -> None:
    with pytest.raises(ValueError, match="needs epochs or steps"):
        fit.fit(Clouds())
    with pytest.raises(ValueError, match="must not be negative"):
        fit.fit(Clouds(), epochs=-1)

    class TooLarge(Clouds):
        batch_size = 100
        drop_last = True

    with pytest.raises(DataError, match=r"60 training samples give no batch of 100.*Set batch_size to 60 or less"):
        list(fit.fit(TooLarge(), epochs=1))


def test_task_collects_its_parts_by_name() -> None:
    task = Clouds()
    task.setup()
    assert list(task.metrics) == ["accuracy"]
    assert list(task.optimizers) == ["adam"]
    assert list(task.modules) == ["model", "criterion"]
    assert task.setup() is task.batches


def test_preserve_state_changes_nothing() -> None:
    class WithBuffers(Clouds):
        def configure(self) -> None:
            super().configure()
            self.model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
            self.adam = optim.Adam(self.model.parameters(), lr=0.05)

    def losses(look: bool) -> list[float]:
        task, result = WithBuffers(seed=2), []
        for event in fit.fit(task, epochs=2):
            if isinstance(event, fit.Step):
                result += [event.loss, event.metrics["accuracy"]]
                if look:
                    grads = [parameter.grad for parameter in task.model.parameters()]
                    with fit.preserve_state(task):
                        assert all(parameter.grad is None for parameter in task.model.parameters())
                        for loss in task.losses(next(iter(task.setup().train))).values():
                            loss.backward()
                    assert all(p.grad is grad for p, grad in zip(task.model.parameters(), grads, strict=True))
        return [*result, *(buffer.sum().item() for buffer in task.model.buffers())]

    assert losses(look=True) == losses(look=False)


class Searching(Clouds):
    """A task with an optimizer that evaluates the loss several times per step."""

    def configure(self) -> None:
        super().configure()
        self.evaluations = 0
        del self.adam
        self.newton = optim.LBFGS(self.model.parameters(), max_iter=4, line_search_fn="strong_wolfe")

    def losses(self, batch: Any) -> dict[Any, Any]:
        points, labels = batch
        self.evaluations += 1
        logits = self.model(points)
        self.measure(self.accuracy, logits, labels)
        return {self.newton: self.criterion(logits, labels)}


def test_an_optimizer_that_needs_a_closure() -> None:
    task = Searching(seed=3)
    events = list(fit.fit(task, epochs=2))
    epochs = [event for event in events if isinstance(event, fit.Epoch)]
    steps = [event for event in events if isinstance(event, fit.Step)]
    assert epochs[-1].val_loss is not None
    assert epochs[-1].val_loss < 0.5 * steps[0].loss
    assert task.evaluations > 2 * len(steps)
    # Each sample is measured once, however often the search looked at it.
    last_step = [step for step in steps if step.epoch == 1][-1]
    assert last_step.metrics["accuracy"] * 60 == pytest.approx(round(last_step.metrics["accuracy"] * 60))
    first = fit.fit(Searching(seed=3), epochs=1)
    list(first)
    again = Searching(seed=3)
    second = fit.fit(again, epochs=2)
    second.load_state_dict(first.state_dict())
    list(second)
    for ours, others in zip(weights(again), weights(task), strict=True):
        np.testing.assert_array_equal(ours, others)
