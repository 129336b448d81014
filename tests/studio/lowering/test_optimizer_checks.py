"""Values of optimizers, schedules and training settings that are sound although they resemble mistakes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from studio.document import edits
from studio.document.model import Document, Json, Node, TrainingSettings, Wire
from studio.nodes.catalogue import catalogue
from studio.nodes.types import Role
from tests.studio.lowering.graphs import changed, codes, end, mlp, report

OPTIMIZERS = [each.key for each in catalogue() if each.role is Role.OPTIMIZER]
SCHEDULES = [each.key for each in catalogue() if each.role is Role.SCHEDULER]
REQUIRED: dict[str, dict[str, Json]] = {
    "CosineAnnealingWarmRestarts": {"T_0": 5},
    "CyclicLR": {"base_lr": 0.001, "max_lr": 0.01, "step_size_up": 50, "cycle_momentum": False},
    "ExponentialLR": {"gamma": 0.9},
    "MultiStepLR": {"milestones": [5, 8]},
    "OneCycleLR": {"max_lr": 0.01},
    "PolynomialLR": {"total_iters": 10},
    "ReduceLROnPlateau": {"patience": 3},
    "StepLR": {"step_size": 4},
}


def optimized(type: str, /, **params: Json) -> Document:
    document = changed(mlp(), "adam", type=f"optim.{type}", params=params)
    if type == "LBFGS":
        document = changed(document, "batches", params={"batch_size": 2000})
    return document


def scheduled(type: str, epochs: int = 10, /, **params: Json) -> Document:
    document = edits.add(mlp(), "schedule", Node(f"lr_scheduler.{type}", params))
    document = edits.connect(document, Wire(end("adam.optimizer"), end("schedule.optimizer")))
    return replace(document, training=TrainingSettings(epochs=epochs))


def trained(document: Document, **settings: Any) -> Document:
    return replace(document, training=TrainingSettings(**settings))


@pytest.mark.parametrize("key", OPTIMIZERS)
def test_the_defaults_of_every_optimizer_are_sound(key: str) -> None:
    assert codes(optimized(key.partition(".")[2])) == []


@pytest.mark.parametrize("key", SCHEDULES)
def test_usual_values_of_every_schedule_are_sound(key: str) -> None:
    name = key.partition(".")[2]
    assert codes(scheduled(name, **REQUIRED.get(name, {}))) == []


@pytest.mark.parametrize("key", OPTIMIZERS)
def test_a_rate_of_0_and_a_huge_one_are_found_at_every_optimizer(key: str) -> None:
    name = key.partition(".")[2]
    assert codes(optimized(name, lr=0.0)) == ["learning-rate-zero"]
    assert codes(optimized(name, lr=100.0)) == ["learning-rate-too-high"]


SOUND: dict[str, Document] = {
    "gradient descent with a rate of 1": optimized("SGD", lr=1.0),
    "momentum with a usual rate": optimized("SGD", lr=0.1, momentum=0.9, nesterov=True),
    "a high rate for a large batch": changed(
        optimized("SGD", lr=0.8, momentum=0.9), "batches", params={"batch_size": 1024}
    ),
    "a low rate in a long training": trained(optimized("Adam", lr=1e-5), epochs=100),
    "a low rate for gradient descent in a long training": trained(optimized("SGD", lr=5e-4), epochs=100),
    "a sum with a low rate": changed(optimized("SGD", lr=0.001), "cross_entropy", params={"reduction": "sum"}),
    "a sum with Adam": changed(mlp(), "cross_entropy", params={"reduction": "sum"}),
    "no first average": optimized("Adam", betas=[0.0, 0.9]),
    "betas of language models": optimized("AdamW", betas=[0.9, 0.95], weight_decay=0.1),
    "decoupled weight decay": optimized("AdamW", weight_decay=0.5),
    "a short exponential decay": scheduled("ExponentialLR", gamma=0.8),
    "a slow decay per step": scheduled("ExponentialLR", gamma=0.99, per="step"),
    "steps to a thousandth": scheduled("StepLR", 12, step_size=3, gamma=0.1),
    "restarts": scheduled("CosineAnnealingWarmRestarts", T_0=2, T_mult=2),
    "a cosine with a lowest rate": scheduled("CosineAnnealingLR", eta_min=1e-5),
    "patience within the run": trained(mlp(), patience=9, epochs=10),
    "few validations": trained(mlp(), validate_epochs=5, patience=1),
    "a whole epoch per step": trained(mlp(), accumulate=23),
    "usual clipping": trained(mlp(), clip_norm=0.1, clip_value=0.01),
    "weights by the training loss": changed(
        trained(mlp(), follow="train_loss", validate_epochs=0), "digits", params={"validation": 0.0}
    ),
    "a small minimum improvement": trained(mlp(), patience=3, min_change=0.01),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_values_are_accepted(name: str) -> None:
    assert codes(SOUND[name]) == []


def test_an_optimizer_that_raises_the_loss_of_another_is_sound() -> None:
    document = edits.add(mlp(), "opponent", Node("optim.Adam", {"maximize": True}, trains=("hidden",)))
    document = edits.connect(document, Wire(end("cross_entropy.loss"), end("opponent.loss")))
    document = changed(document, "adam", trains=("logits",))
    assert "ascent" not in codes(document)


@pytest.mark.parametrize(
    ("made", "title"),
    [
        (scheduled("ExponentialLR", gamma=0.9, per="step"), "Set per to epoch"),
        (scheduled("ExponentialLR", 20, gamma=0.2), "Set gamma to 0.89"),
        (scheduled("PolynomialLR", 20, total_iters=5), "Set total_iters to 20"),
        (scheduled("StepLR", 30, step_size=2), "Set step_size to 10"),
        (scheduled("MultiStepLR", 20, milestones=[1, 2, 3]), "Set milestones to 10, 15"),
    ],
)
def test_a_schedule_that_falls_too_early_is_stretched_over_the_training(made: Document, title: str) -> None:
    [problem] = report(made).problems
    assert (problem.code, problem.node) == ("schedule-falls", "schedule")
    assert problem.fix is not None and problem.fix.title == title
    assert problem.evidence["useful_share"] < 0.4


def test_the_rate_of_a_cycle_is_judged_instead_of_that_of_its_optimizer() -> None:
    made = changed(scheduled("OneCycleLR", max_lr=0.01), "adam", params={"lr": 0.0})
    assert codes(made) == []


def test_a_long_training_checks_the_beginning_of_its_schedule() -> None:
    made = replace(scheduled("ExponentialLR", gamma=0.99, per="step"), training=TrainingSettings(epochs=100_000))
    assert codes(made) == ["schedule-falls"]
