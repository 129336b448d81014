"""Training gives the same bits with any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import engine
from engine import data, fit, nn, optim
from engine.random import Generator
from tests.engine.fit.clouds import weights

THREADS = (1, 2, 3)
INPUTS, CLASSES = 64, 10


class Wide(fit.Task):
    """Products that BLAS divides between threads: some in the middle of a step, some large enough for blocks."""

    def data(self) -> data.Batches:
        samples, labels = Generator(0).normal((200, INPUTS)).astype(np.float32), np.arange(200) % CLASSES
        return data.Batches(data.ArraySplits((samples, labels), (samples[:100], labels[:100])), 32)

    def configure(self) -> None:
        layers = (nn.Linear(INPUTS, 256), nn.ReLU(), nn.Linear(256, 600), nn.LayerNorm(600), nn.Linear(600, CLASSES))
        self.model = nn.Sequential(*layers)
        self.criterion = nn.CrossEntropyLoss()
        self.adam = optim.Adam(self.model.parameters(), lr=0.01)

    def losses(self, batch: Any) -> dict[Any, Any]:
        samples, labels = batch
        return {self.adam: self.criterion(self.model(samples), labels)}


@pytest.fixture(autouse=True)
def _restored_settings() -> Iterator[None]:
    threads, state = engine.get_num_threads(), engine.random.get_rng_state()
    yield
    engine.set_num_threads(threads)
    engine.random.set_rng_state(state)


@pytest.mark.parametrize("compile", [True, False], ids=["compiled", "eager"])
def test_trained_weights_do_not_depend_on_threads(compile: bool) -> None:
    found = []
    for threads in THREADS:
        engine.set_num_threads(threads)
        engine.manual_seed(0)
        task = Wide()
        epochs = [event for event in fit.fit(task, epochs=2, compile=compile) if isinstance(event, fit.Epoch)]
        found.append(([(epoch.train_loss, epoch.val_loss) for epoch in epochs], weights(task)))
    (first_losses, first), *others = found
    for losses, other in others:
        assert losses == first_losses
        for name, array in first.items():
            np.testing.assert_array_equal(other[name], array, err_msg=name)
