"""Two networks against each other: the template, and what each optimizer changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import fit, random
from studio.document import edits
from studio.document.files.project_templates import template
from studio.lowering import check, lower
from studio.nodes import catalogue

GAN = template("digits-gan").document
GENERATOR, DISCRIMINATOR = {"generator_hidden", "generator_pixels"}, {"discriminator_hidden", "discriminator_scores"}


def task(seed: int = 0) -> fit.Task:
    return lower(check(GAN, catalogue())).build(seed=seed)


def images_of(task: fit.Task) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """As many generated images as there are digits to train with, and these, N×64 from 0 to 1."""
    drawn: list[Any] = []
    batches = task.setup().train
    hook = (
        task.modules["model"]
        .get_submodule("generated")
        .register_forward_hook(lambda module, inputs, output: drawn.append(output.numpy().copy()))
    )
    written = [batch[0] for batch in batches]
    with engine.no_grad():
        for images in written:
            task.model(images)
    hook.remove()
    return np.concatenate(drawn), np.concatenate([images.numpy().reshape(-1, 64) for images in written])


def differences(task: fit.Task) -> tuple[float, float]:
    """How far mean and standard deviation of drawn images are from those of digits, on average over the pixels."""
    drawn, written = images_of(task)
    mean, spread = (abs(f(drawn, axis=0) - f(written, axis=0)).mean() for f in (np.mean, np.std))
    return float(mean), float(spread)


def test_shapes_of_a_concatenated_batch() -> None:
    report = check(GAN, catalogue())
    assert report.problems == ()
    texts = {str(wire): text for wire, text in report.wires.items()}
    assert texts["real_and_fake.output -> discriminator_hidden.input"] == "2·N×64 float32"
    assert texts["halves.second -> generator_loss.input"] == "N×1 float32"
    assert {name: set(layers) for name, layers in report.trained.items()} == {
        "generator_adam": GENERATOR,
        "discriminator_adam": DISCRIMINATOR,
    }


def test_each_loss_changes_only_its_network() -> None:
    """A step of one optimizer by the gradients that `fit` gives it: nothing of the other loss is in them."""
    whole = task()
    whole.setup()
    batch = next(iter(whole.setup().train))
    state = random.get_rng_state()
    fit.step(whole, batch)
    for own, layers in (("generator_adam", GENERATOR), ("discriminator_adam", DISCRIMINATOR)):
        alone = task()
        alone.setup()
        random.set_rng_state(state)
        losses = alone.losses(batch)
        losses[alone.optimizers[own]].backward()
        alone.optimizers[own].step()
        fresh = task()
        fresh.setup()
        tensors = zip(*(each.model.state_dict().items() for each in (whole, alone, fresh)), strict=True)
        for (name, together), (_, by_itself), (_, before) in tensors:
            if name.partition(".")[0] in layers:
                np.testing.assert_allclose(together.numpy(), by_itself.numpy(), rtol=1e-5, atol=1e-7, err_msg=name)
                assert not np.array_equal(together.numpy(), before.numpy())
            else:
                np.testing.assert_array_equal(by_itself.numpy(), before.numpy(), err_msg=name)


def test_compiled_and_eager_training_agree() -> None:
    found: list[list[fit.Step]] = []
    for compile in (False, True):
        events = fit.fit(task(), steps=30, compile=compile)
        found.append([event for event in events if isinstance(event, fit.Step)])
    for eager, compiled in zip(*found, strict=True):
        assert compiled.losses == pytest.approx(dict(eager.losses), rel=1e-4)


def test_each_optimizer_reports_its_learning_rate() -> None:
    slower = lower(check(edits.set_param(GAN, "discriminator_adam", "lr", 0.003), catalogue())).build()
    rates = next(event.learning_rates for event in fit.fit(slower, steps=1) if isinstance(event, fit.Step))
    assert rates["discriminator_adam"] == 0.003 != rates["generator_adam"]


def test_a_muted_optimizer_does_not_change_its_network() -> None:
    only_discriminator = edits.set_flag(GAN, ["generator_adam"], muted=True)
    codes = {problem.code for problem in check(only_discriminator, catalogue()).problems}
    assert "left-alone" in codes


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_generated_points_match_the_description(seed: int) -> None:
    assert "at most 75% accurate" in GAN.description and "within 0.1" in GAN.description
    trained = task(seed)
    before = differences(task(seed))
    *_, last = (event for event in fit.fit(trained, epochs=GAN.training.epochs) if isinstance(event, fit.Epoch))
    assert 0.4 < last.train_metrics["accuracy"] < 0.75
    mean, spread = differences(trained)
    assert mean < 0.1 and spread < 0.06
    assert mean < before[0] / 1.5 and spread < before[1] / 3
