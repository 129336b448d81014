"""Mistakes with optimizers and schedules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from studio.document import edits
from studio.document.model import Document, Json, Node, TrainingSettings
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.projects import digits, wire

_LEARNED = Goal("val_accuracy", 0.6, epochs=3)
_EPOCHS = 12


def _classifier(
    _: Path,
    *,
    optimizer: Node,
    schedule: Node | None = None,
    data: dict[str, Json] | None = None,
    loss: dict[str, Json] | None = None,
    training: dict[str, Any] | None = None,
) -> Document:
    """Digits by two layers. The optimizer and its schedule have the names of their types."""
    name = optimizer.type.rpartition(".")[2].lower()
    document = digits(
        {
            "flatten": "nn.Flatten",
            "hidden": Node("nn.Linear", {"out_features": 32}),
            "relu": "nn.ReLU",
            "logits": Node("nn.Linear", {"out_features": 10}),
        },
        digits=Node("data.Digits", data or {}),
        batches=Node("data.Batches", {"batch_size": 48}),
        cross_entropy=Node("nn.CrossEntropyLoss", loss or {}),
        adam=optimizer,
        accuracy="metrics.Accuracy",
        wires=["logits.output -> accuracy.input", "batches.target -> accuracy.target"],
    )
    document = edits.rename(document, "adam", name) if name != "adam" else document
    if schedule is not None:
        document = edits.add(document, "schedule", schedule)
        document = edits.connect(document, wire(f"{name}.optimizer -> schedule.optimizer"))
    return replace(document, training=TrainingSettings(**{"epochs": _EPOCHS, **(training or {})}))


def _optimizer(type: str, /, **params: Json) -> Callable[[Path], Document]:
    return partial(_classifier, optimizer=Node(f"optim.{type}", params))


def _schedule(type: str, /, **params: Json) -> Callable[[Path], Document]:
    schedule = Node(f"lr_scheduler.{type}", params)
    return partial(_classifier, optimizer=Node("optim.Adam", {"lr": 0.005}), schedule=schedule)


def _training(**settings: Any) -> Callable[[Path], Document]:
    return partial(_classifier, optimizer=Node("optim.Adam", {"lr": 0.005}), training=settings)


def _negative_weight(_: Path) -> Document:
    """Scores and a reconstruction; one has a weight with the wrong sign."""
    document = _classifier(_, optimizer=Node("optim.Adam", {"lr": 0.005}))
    document = edits.add(document, "image", Node("nn.Linear", {"out_features": 64}))
    document = edits.add(document, "mse", Node("nn.MSELoss"))
    document = edits.add(document, "total", Node("studio.LossSum", {"weight_b": -0.5}))
    for text in (
        "relu.output -> image.input",
        "image.output -> mse.input",
        "flatten.output -> mse.target",
        "cross_entropy.loss -> total.a",
        "mse.loss -> total.b",
        "total.loss -> adam.loss",
    ):
        document = edits.connect(document, wire(text))
    return document


def _plateau_without_validation(path: Path) -> Document:
    return _classifier(
        path,
        optimizer=Node("optim.Adam", {"lr": 0.005}),
        schedule=Node("lr_scheduler.ReduceLROnPlateau", {"patience": 2}),
        data={"validation": 0.0},
    )


def _untrained_metric(path: Path) -> Document:
    """Weights selected by a metric of a branch that is not trained."""
    document = _classifier(path, optimizer=Node("optim.Adam", {"lr": 0.005}), training={"follow": "val_accuracy"})
    return edits.connect(document, wire("flatten.output -> accuracy.input"))


_SGD = {"lr": 0.1}
_RATES = (
    Mistake("rate_of_0", "learning-rate-zero", "adam", _optimizer("Adam", lr=0.0), goal=_LEARNED),
    Mistake("rate_of_0_with_sgd", "learning-rate-zero", "sgd", _optimizer("SGD", lr=0.0)),
    Mistake("high_rate", "learning-rate-too-high", "adam", _optimizer("Adam", lr=0.5), goal=_LEARNED),
    Mistake("high_rate_of_deep_network", "learning-rate-too-high", "adamw", _optimizer("AdamW", lr=0.1)),
    Mistake("high_rate_with_sgd", "learning-rate-too-high", "sgd", _optimizer("SGD", lr=10.0), goal=_LEARNED),
    Mistake(
        "high_rate_with_momentum",
        "learning-rate-too-high",
        "sgd",
        _optimizer("SGD", lr=1.0, momentum=0.9),
        goal=_LEARNED,
    ),
    Mistake(
        "high_rate_of_cycle", "learning-rate-too-high", "schedule", _schedule("OneCycleLR", max_lr=3.0), goal=_LEARNED
    ),
    Mistake("high_rate_with_rmsprop", "learning-rate-too-high", "rmsprop", _optimizer("RMSprop", lr=1.0)),
    Mistake("low_rate", "learning-rate-too-low", "adam", _optimizer("Adam", lr=1e-7), goal=_LEARNED),
    Mistake("low_rate_with_sgd", "learning-rate-too-low", "sgd", _optimizer("SGD", lr=1e-6), goal=_LEARNED),
    Mistake("low_rate_with_adadelta", "learning-rate-too-low", "adadelta", _optimizer("Adadelta", lr=1e-5)),
    Mistake(
        "summed_loss",
        "summed-loss",
        "cross_entropy",
        partial(_classifier, optimizer=Node("optim.SGD", {"lr": 0.2}), loss={"reduction": "sum"}),
        goal=_LEARNED,
    ),
)
_COEFFICIENTS = (
    Mistake("maximized_loss", "ascent", "adam", _optimizer("Adam", lr=0.005, maximize=True), goal=_LEARNED),
    Mistake("negative_weight_of_loss", "ascent", "total", _negative_weight, goal=_LEARNED),
    Mistake("momentum_of_1", "momentum", "sgd", _optimizer("SGD", lr=0.01, momentum=1.0), goal=_LEARNED),
    Mistake(
        "dampening_of_1", "momentum", "sgd", _optimizer("SGD", lr=0.05, momentum=0.9, dampening=1.0), goal=_LEARNED
    ),
    Mistake("swapped_betas", "averages", "adam", _optimizer("Adam", lr=0.005, betas=[0.999, 0.9]), goal=_LEARNED),
    Mistake("short_average", "averages", "rmsprop", _optimizer("RMSprop", lr=0.001, alpha=0.01), goal=_LEARNED),
    Mistake("large_eps", "epsilon", "adam", _optimizer("Adam", lr=0.005, eps=1.0), goal=_LEARNED),
    Mistake("eps_of_0", "epsilon", "adam", _optimizer("Adam", lr=0.005, eps=0.0), goal=_LEARNED),
    Mistake("strong_weight_decay", "weight-decay", "sgd", _optimizer("SGD", **_SGD, weight_decay=1.0), goal=_LEARNED),
    Mistake(
        "strong_decoupled_weight_decay",
        "weight-decay",
        "adamw",
        _optimizer("AdamW", lr=0.005, weight_decay=50.0),
    ),
)
_SCHEDULES = (
    Mistake("rate_0_at_once", "schedule-zero", "schedule", _schedule("ExponentialLR", gamma=0.0), goal=_LEARNED),
    Mistake("growing_rate", "schedule-grows", "schedule", _schedule("ExponentialLR", gamma=1.5), goal=_LEARNED),
    Mistake("growing_steps", "schedule-grows", "schedule", _schedule("StepLR", step_size=3, gamma=10.0)),
    Mistake(
        "exponential_per_step",
        "schedule-falls",
        "schedule",
        _schedule("ExponentialLR", gamma=0.9, per="step"),
        goal=_LEARNED,
    ),
    Mistake(
        "steps_instead_of_epochs",
        "schedule-falls",
        "schedule",
        _schedule("StepLR", step_size=4, gamma=0.3, per="step"),
        goal=_LEARNED,
    ),
    Mistake("short_polynomial", "schedule-falls", "schedule", _schedule("PolynomialLR", total_iters=2), goal=_LEARNED),
    Mistake(
        "long_warm_up",
        "schedule-slow",
        "schedule",
        _schedule("LinearLR", start_factor=0.001, total_iters=1000),
        goal=_LEARNED,
    ),
    Mistake("late_steps", "schedule-idle", "schedule", _schedule("StepLR", step_size=30)),
    Mistake(
        "default_plateau",
        "schedule-idle",
        "schedule",
        partial(
            _classifier,
            optimizer=Node("optim.Adam", {"lr": 0.005}),
            schedule=Node("lr_scheduler.ReduceLROnPlateau"),
            training={"epochs": 8},
        ),
    ),
    Mistake(
        "slow_cycle",
        "schedule-slow",
        "schedule",
        _schedule("CyclicLR", base_lr=1e-5, max_lr=0.01, cycle_momentum=False),
    ),
    Mistake("late_plateau", "schedule-idle", "schedule", _schedule("ReduceLROnPlateau", patience=20)),
)
_SETTINGS = (
    Mistake("plateau_without_validation", "no-validation", "digits", _plateau_without_validation),
    Mistake(
        "early_stopping_without_validation",
        "no-validation",
        "digits",
        partial(_classifier, optimizer=Node("optim.Adam"), data={"validation": 0.0}, training={"patience": 3}),
    ),
    Mistake(
        "weights_selected_without_validation",
        "no-validation",
        "digits",
        partial(_classifier, optimizer=Node("optim.Adam"), data={"validation": 0.0}),
    ),
    Mistake("validation_turned_off", "never-validated", None, _training(validate_epochs=0, patience=3)),
    Mistake(
        "lbfgs_with_accumulation",
        "single-evaluation",
        "lbfgs",
        partial(
            _classifier,
            optimizer=Node("optim.LBFGS", {"line_search_fn": "strong_wolfe"}),
            training={"accumulate": 4},
        ),
    ),
    Mistake("accumulation_of_epochs", "accumulates-epoch", None, _training(accumulate=500), goal=_LEARNED),
    Mistake(
        "clipped_to_nothing",
        "clips-to-nothing",
        None,
        partial(_classifier, optimizer=Node("optim.SGD", {"lr": 0.1, "momentum": 0.5}), training={"clip_norm": 1e-6}),
        goal=_LEARNED,
    ),
    Mistake("long_patience", "patience-unused", None, _training(patience=100)),
    Mistake("impossible_improvement", "cannot-improve", None, _training(patience=2, min_change=5.0)),
    Mistake("untrained_metric", "cannot-improve", "accuracy", _untrained_metric, goal=Goal("val_loss", 1.0, 4, True)),
)

OPTIMIZERS: tuple[Mistake, ...] = (*_RATES, *_COEFFICIENTS, *_SCHEDULES, *_SETTINGS)

__all__ = ["OPTIMIZERS"]
