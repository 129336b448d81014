"""Random but sensible optimizers, schedules and training settings."""

from __future__ import annotations

from random import Random

from studio.document.model import Json, TrainingSettings
from tests.studio.mistakes.healthy_builder import GraphBuilder

_RATES: dict[str, tuple[tuple[float, float], tuple[dict[str, Json], ...]]] = {
    "Adam": ((5e-4, 1e-2), ({}, {"weight_decay": 1e-4}, {"betas": [0.5, 0.999]}, {"amsgrad": True})),
    "AdamW": ((5e-4, 1e-2), ({}, {"weight_decay": 0.1}, {"weight_decay": 0.0}, {"betas": [0.9, 0.95], "eps": 1e-7})),
    "NAdam": ((1e-3, 1e-2), ({}, {"decoupled_weight_decay": True, "weight_decay": 0.01})),
    "RAdam": ((1e-3, 1e-2), ({}, {"weight_decay": 1e-4})),
    "Adamax": ((1e-3, 1e-2), ({},)),
    "RMSprop": ((5e-4, 3e-3), ({}, {"momentum": 0.9, "alpha": 0.9}, {"centered": True})),
    "Adagrad": ((0.01, 0.05), ({}, {"lr_decay": 1e-4})),
    "Adadelta": ((0.5, 1.0), ({}, {"rho": 0.95})),
    "Adafactor": ((0.005, 0.02), ({},)),
    "SGD": ((0.02, 0.1), ({}, {"weight_decay": 5e-4})),
    "SGD with momentum": ((0.005, 0.05), ({"momentum": 0.9}, {"momentum": 0.9, "nesterov": True})),
    "ASGD": ((0.01, 0.05), ({},)),
}
"""By optimizer: the range of learning rates, and further parameters."""
_FULL_BATCH: dict[str, tuple[tuple[float, float], tuple[dict[str, Json], ...]]] = {
    "LBFGS": ((0.5, 1.0), ({"line_search_fn": "strong_wolfe"}, {"line_search_fn": "strong_wolfe", "max_iter": 10})),
    "Rprop": ((1e-4, 1e-2), ({},)),
}
"""Optimizers that need the gradient of all samples."""
_SMOOTH_RATE = 0.4
"""Factor on learning rates of plain gradient descent for losses of unbounded targets."""


def add_training(
    graph: GraphBuilder,
    loss: str,
    *,
    full_batch: bool = False,
    regression: bool = False,
    metric: str = "",
    optimizer: str = "",
) -> TrainingSettings:
    """Add an optimizer at an output of a loss, and perhaps a schedule; returns settings that fit.

    Args:
        regression: whether targets are numbers, whose losses need smaller steps
        metric: name of a metric node whose highest value may select the weights
        optimizer: its type (default: any)
    """
    random = graph.random
    table = {**_RATES, **(_FULL_BATCH if full_batch else {})}
    choice = optimizer or random.choice(list(table))
    (low, high), variants = table[choice]
    rate = float(f"{low * (high / low) ** random.random():.2g}")
    if regression and choice in ("SGD", "SGD with momentum", "ASGD"):
        rate = float(f"{rate * _SMOOTH_RATE:.2g}")
    graph.last = loss
    graph.add(f"optim.{choice.partition(' ')[0]}", "", lr=rate, **random.choice(variants))
    epochs = random.choice((5, 8, 12, 20, 40))
    has_momentum = choice not in ("Adagrad", "Adadelta", "Adafactor", "SGD", "ASGD", "Rprop", "LBFGS")
    if choice not in ("Rprop", "LBFGS"):
        _add_schedule(graph, rate, epochs, has_momentum=has_momentum and choice != "RMSprop")
    return _settings(random, epochs, metric, is_plain=full_batch)


def _add_schedule(graph: GraphBuilder, rate: float, epochs: int, *, has_momentum: bool) -> None:
    random = graph.random
    match random.choice(("none", "none", "cosine", "steps", "exponential", "warm-up", "cycle", "other")):
        case "cosine":
            graph.add("lr_scheduler.CosineAnnealingLR", eta_min=random.choice((0.0, rate / 100)), per=_unit(random))
        case "steps" if epochs >= 8:
            graph.add("lr_scheduler.StepLR", step_size=max(epochs // 3, 2), gamma=random.choice((0.1, 0.3, 0.5)))
        case "steps":
            graph.add("lr_scheduler.MultiStepLR", milestones=[epochs // 2, epochs - 1], gamma=0.1)
        case "exponential":
            graph.add("lr_scheduler.ExponentialLR", gamma=random.choice((0.9, 0.95, 0.99)))
        case "warm-up":
            graph.add("lr_scheduler.LinearLR", start_factor=0.1, total_iters=2, lasts=2)
            graph.add("lr_scheduler.CosineAnnealingLR")
        case "cycle":
            graph.add("lr_scheduler.OneCycleLR", max_lr=rate, cycle_momentum=has_momentum)
        case "other":
            _add_rare_schedule(graph, rate, epochs)
        case _:
            pass


def _add_rare_schedule(graph: GraphBuilder, rate: float, epochs: int) -> None:
    match graph.random.randrange(5):
        case 0:
            graph.add("lr_scheduler.ReduceLROnPlateau", factor=0.5, patience=graph.random.choice((1, 2)))
        case 1:
            graph.add("lr_scheduler.CosineAnnealingWarmRestarts", T_0=max(epochs // 4, 1))
        case 2:
            graph.add("lr_scheduler.PolynomialLR", total_iters=epochs, power=graph.random.choice((0.5, 1.0, 2.0)))
        case 3:
            graph.add("lr_scheduler.CyclicLR", base_lr=rate / 10, max_lr=rate, step_size_up=20, cycle_momentum=False)
        case _:
            graph.add("lr_scheduler.ConstantLR", factor=0.3, total_iters=2)


def _unit(random: Random) -> str:
    return random.choice(("epoch", "step"))


def _settings(random: Random, epochs: int, metric: str, *, is_plain: bool) -> TrainingSettings:
    patience = random.choice((None, None, max(epochs // 4, 1), epochs - 1))
    if is_plain:
        return TrainingSettings(epochs=epochs, patience=patience)
    clip = random.choice((None, None, None, "norm", "value"))
    return TrainingSettings(
        epochs=epochs,
        seed=random.randrange(100),
        accumulate=random.choice((1, 1, 1, 1, 2)),
        clip_norm=random.choice((0.5, 1.0, 5.0)) if clip == "norm" else None,
        clip_value=random.choice((0.5, 1.0)) if clip == "value" else None,
        follow=f"val_{metric}" if metric and random.random() < 0.3 else "val_loss",
        patience=patience,
        min_change=random.choice((0.0, 0.0, 1e-4)),
    )


__all__ = ["add_training"]
