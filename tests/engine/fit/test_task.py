from __future__ import annotations

import copy
import pickle

from engine import metrics, nn, optim
from tests.engine.fit.clouds import Clouds


def test_attributes_are_found_whenever_they_are_set() -> None:
    task = Clouds()
    assert (task.modules, task.optimizers, task.schedulers, task.metrics) == ({}, {}, {}, {})
    task.setup()
    assert list(task.modules) == ["model", "criterion"]
    assert task.optimizers == {"adam": task.adam}
    assert task.metrics == {"accuracy": task.accuracy}
    task.second = accuracy = metrics.Accuracy()
    assert task.metrics == {"accuracy": task.accuracy, "second": accuracy}
    task.schedule = optim.lr_scheduler.StepLR(task.adam, 1)
    assert task.schedulers == {"schedule": task.schedule}
    task.model = linear = nn.Linear(4, 3)
    assert task.modules["model"] is linear
    task.adam = None
    assert task.optimizers == {}
    del task.criterion
    assert list(task.modules) == ["model"]


def test_returned_pieces_can_be_modified_by_the_caller() -> None:
    task = Clouds()
    task.setup()
    task.metrics.clear()
    assert list(task.metrics) == ["accuracy"]


def test_a_copy_refers_to_its_copies() -> None:
    task = Clouds()
    task.setup()
    assert list(task.modules) == ["model", "criterion"]
    for other in (copy.copy(task), copy.deepcopy(task), pickle.loads(pickle.dumps(task))):
        assert other.modules["model"] is other.model
        other.model = linear = nn.Linear(4, 3)
        assert other.modules["model"] is linear
        assert task.modules["model"] is task.model is not linear
