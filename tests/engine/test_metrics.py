from __future__ import annotations

import math

import numpy as np
import pytest

import engine
from engine import metrics
from engine.errors import ShapeError
from engine.registry import METRICS
from engine.shape import Dim

SCORES = engine.tensor([[0.1, 0.9, 0.0], [0.8, 0.1, 0.3], [0.2, 0.2, 0.9], [0.5, 0.4, 0.3]])
LABELS = engine.tensor([1, 0, 0, 2])


def test_accuracy_over_batches() -> None:
    metric = metrics.Accuracy()
    assert math.isnan(metric.compute())
    metric.update(SCORES, LABELS)
    assert metric.compute() == 0.5
    metric.update(SCORES[:1], LABELS[:1])
    assert metric.compute() == 0.6
    metric.reset()
    metric.update(SCORES[:1], LABELS[:1])
    assert metric.compute() == 1


def test_accuracy_of_every_pixel() -> None:
    scores = engine.randn(2, 3, 4, 5)
    labels = scores.argmax(1)
    metric = metrics.Accuracy()
    metric.update(scores, labels)
    assert metric.compute() == 1


@pytest.mark.parametrize("k", [1, 2, 3])
def test_top_k_as_pytorch_sorts(k: int) -> None:
    torch = pytest.importorskip("torch")
    scores = engine.rand(50, 5, generator=engine.Generator(1))
    labels = engine.randint(0, 5, (50,), generator=engine.Generator(2))
    metric = metrics.TopKAccuracy(k)
    metric.update(scores, labels)
    best = torch.from_numpy(scores.numpy()).topk(k).indices.numpy()
    assert metric.compute() == (best == labels.numpy()[:, None]).any(1).mean()


def test_equal_scores_are_no_hit() -> None:
    metric = metrics.TopKAccuracy(2)
    metric.update(engine.zeros(4, 3), engine.tensor([0, 1, 2, 0]))
    assert metric.compute() == 0


def test_binary_accuracy() -> None:
    metric = metrics.BinaryAccuracy()
    metric.update(engine.tensor([[-1.0], [2.0], [0.5]]), engine.tensor([[0.0], [1.0], [0.0]]))
    assert metric.compute() == pytest.approx(2 / 3)
    assert metrics.BinaryAccuracy(0.9).threshold == 0.9


def test_distances() -> None:
    answers, targets = engine.tensor([[1.0], [2.0], [4.0]]), engine.tensor([[1.0], [4.0], [1.0]])
    absolute, root = metrics.MeanAbsoluteError(), metrics.RootMeanSquaredError()
    for metric in (absolute, root):
        metric.update(answers[:2], targets[:2])
        metric.update(answers[2:], targets[2:])
    assert absolute.compute() == pytest.approx(5 / 3)
    assert root.compute() == pytest.approx(np.sqrt(13 / 3))


def test_shapes_that_would_broadcast_are_refused() -> None:
    for metric in (metrics.MeanAbsoluteError(), metrics.RootMeanSquaredError(), metrics.BinaryAccuracy()):
        with pytest.raises(ShapeError, match="one shape, but are 3×1 and 3"):
            metric.update(engine.zeros(3, 1), engine.zeros(3))
    for metric in (metrics.Accuracy(), metrics.TopKAccuracy()):
        with pytest.raises(ShapeError, match="found 3×2 and 4"):
            metric.update(engine.zeros(3, 2), engine.tensor([0, 0, 0, 0]))


@pytest.mark.parametrize("entry", METRICS, ids=lambda entry: entry.key)
def test_every_metric_keeps_no_graph_and_knows_shapes_alone(entry) -> None:
    metric = entry.target()
    classes = entry.category == "Classification" and entry.key != "metrics.BinaryAccuracy"
    input = engine.ones(4, 3, requires_grad=True)
    target = engine.tensor([0, 1, 2, 0]) if classes else engine.ones(4, 3)
    metric.update(input, target)
    assert not metric._sum.requires_grad
    assert isinstance(metric.compute(), float)
    n = Dim("N")
    symbolic = engine.zeros(n, 3, device="meta")
    labels = engine.zeros(n, dtype=engine.int64, device="meta") if classes else symbolic
    entry.target().update(symbolic, labels)
