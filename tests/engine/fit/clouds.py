"""A small task to train: three clouds of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import data, fit, metrics, nn, optim
from engine.random import Generator


def clouds(count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Points and their cloud numbers."""
    labels = np.arange(count) % 3
    return (Generator(0).normal((count, 4)) + 2 * labels[:, None]).astype(np.float32), labels


class Clouds(fit.Task):
    batch_size = 16

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.replay_classes = type(self).__mro__[:-3]  # without Task, ABC and object

    def data(self) -> data.Batches:
        return data.Batches(data.ArraySplits(clouds(), clouds(30)), self.batch_size)

    def configure(self) -> None:
        layers = (nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
        self.model = nn.Sequential(*layers)
        self.criterion = nn.CrossEntropyLoss()
        self.accuracy = metrics.Accuracy()
        self.adam = optim.Adam(self.model.parameters(), lr=0.05)

    def losses(self, batch: Any) -> dict[Any, Any]:
        points, labels = batch
        logits = self.model(points)
        self.measure(self.accuracy, logits, labels)
        return {next(iter(self.optimizers.values())): self.criterion(logits, labels)}


def weights(task: fit.Task) -> dict[str, np.ndarray]:
    """Copies of parameters and buffers."""
    return {name: tensor.detach().numpy().copy() for name, tensor in task.model.state_dict().items()}


def same_weights(one: fit.Task, other: fit.Task) -> bool:
    ours, others = weights(one), weights(other)
    return ours.keys() == others.keys() and all(np.array_equal(ours[name], others[name]) for name in ours)
