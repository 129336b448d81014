"""Losses, metrics and learning rates of a task, as plain numbers."""

from __future__ import annotations

from collections.abc import Mapping

from engine.fit.task import Task
from engine.optim.optimizer import Optimizer
from engine.tensors import Tensor


def losses_by_name(task: Task, losses: Mapping[Optimizer, Tensor]) -> dict[str, float]:
    """Losses by optimizer name."""
    return {name: float(losses[one].item()) for name, one in task.optimizers.items() if one in losses}


def reset_metrics(task: Task) -> None:
    for metric in task.metrics.values():
        metric.reset()


def read_metrics(task: Task, *, costly: bool = False) -> dict[str, float]:
    """Metric values since the last reset; expensive metrics only if `costly` is set."""
    return {name: metric.compute() for name, metric in task.metrics.items() if costly or not metric.is_costly}


def metric_tables(task: Task) -> dict[str, list[list[int]]]:
    """Tables of the metrics that have one, such as the confusion matrix."""
    found = {name: metric.table() for name, metric in task.metrics.items()}
    return {name: table for name, table in found.items() if table is not None}


def learning_rate(task: Task) -> float:
    """Learning rate of the first optimizer with a schedule, else of the first optimizer."""
    with_schedule = next((schedule.optimizer for schedule in task.schedulers.values()), None)
    optimizer = with_schedule or next(iter(task.optimizers.values()), None)
    return float("nan") if optimizer is None else float(optimizer.param_groups[0]["lr"])


def learning_rates(task: Task) -> dict[str, float]:
    """Learning rates by optimizer name."""
    return {name: float(optimizer.param_groups[0]["lr"]) for name, optimizer in task.optimizers.items()}


def prefixed_metrics(train: Mapping[str, float], val: Mapping[str, float]) -> dict[str, float]:
    """Metrics with their prefixes: train_loss, val_accuracy, …"""
    return {f"{part}_{name}": value for part, of in (("train", train), ("val", val)) for name, value in of.items()}


__all__ = [
    "prefixed_metrics",
    "learning_rate",
    "learning_rates",
    "losses_by_name",
    "read_metrics",
    "reset_metrics",
    "metric_tables",
]
