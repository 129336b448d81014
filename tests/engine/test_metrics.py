from __future__ import annotations

import math

import numpy as np
import pytest

import engine
from engine import metrics
from engine.compiler import CompiledFunction
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


def test_equal_scores_do_not_count_as_correct() -> None:
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
        with pytest.raises(ShapeError, match="the same shape, not 3×1 and 3"):
            metric.update(engine.zeros(3, 1), engine.zeros(3))
    for metric in (metrics.Accuracy(), metrics.TopKAccuracy()):
        with pytest.raises(ShapeError, match="but they are 3×2 and 4"):
            metric.update(engine.zeros(3, 2), engine.tensor([0, 0, 0, 0]))


JUDGES_CLASSES = {"Accuracy", "TopKAccuracy", "Precision", "Recall", "F1", "ConfusionMatrix", "Perplexity"}


@pytest.mark.parametrize("entry", METRICS, ids=lambda entry: entry.key)
def test_every_metric_keeps_no_graph_and_knows_shapes_alone(entry) -> None:
    arguments = {one.name: 3 for one in entry.parameters if one.required}
    metric = entry.target(**arguments)
    classes = entry.target.__name__ in JUDGES_CLASSES
    input = engine.rand(4, 3).requires_grad_()
    target = engine.tensor([0, 1, 2, 0]) if classes else engine.eye(4, 3)
    assert math.isnan(metric.compute())
    metric.update(input, target)
    sums = [value for value in vars(metric).values() if isinstance(value, engine.Tensor)]
    assert sums
    assert not any(value.requires_grad for value in sums)
    first = metric.compute()
    assert isinstance(first, float)
    assert math.isfinite(first)
    metric.update(input, target)
    assert metric.compute() == pytest.approx(first)
    metric.reset()
    assert math.isnan(metric.compute())
    n = Dim("N")
    symbolic = engine.zeros(n, 3, device="meta")
    labels = engine.zeros(n, dtype=engine.int64, device="meta") if classes else symbolic
    entry.target(**arguments).update(symbolic, labels)


@pytest.mark.parametrize("entry", METRICS, ids=lambda entry: entry.key)
def test_every_metric_is_compiled_without_breaks_and_replayed(entry) -> None:
    arguments = {one.name: 3 for one in entry.parameters if one.required}
    compiled, eager = entry.target(**arguments), entry.target(**arguments)

    def step(metric: metrics.Metric, input: engine.Tensor, target: engine.Tensor) -> None:
        metric.update(input, target)

    faster = CompiledFunction(step, exact=True, replay_classes=())
    for _ in range(5):
        input = engine.randn(8, 3)
        target = engine.randint(0, 3, (8,)) if entry.target.__name__ in JUDGES_CLASSES else engine.rand(8, 3).round()
        faster(compiled, input, target)
        eager.update(input, target)
        assert not any(ran.reason for ran in faster.last)
    assert faster.replays.count > 0, faster.replays.refused
    assert compiled.compute() == pytest.approx(eager.compute(), rel=1e-6)


def counted(answers: list[int], targets: list[int], classes: int = 3) -> tuple[engine.Tensor, engine.Tensor]:
    """Return scores whose argmax is the prediction, and the targets."""
    return engine.eye(classes)[engine.tensor(answers)], engine.tensor(targets)


ANSWERS, TARGETS = [0, 2, 1, 0, 0, 1], [0, 1, 2, 0, 1, 2]
"""The example of scikit-learn's precision_score, recall_score and f1_score."""


@pytest.mark.parametrize(
    ("kind", "macro", "micro", "weighted"),
    [
        (metrics.Precision, 2 / 9, 1 / 3, 2 / 9),
        (metrics.Recall, 1 / 3, 1 / 3, 1 / 3),
        (metrics.F1, 4 / 15, 1 / 3, 4 / 15),
    ],
)
def test_class_metrics_match_scikit_learn(kind, macro: float, micro: float, weighted: float) -> None:
    expected = {"macro": macro, "micro": micro, "weighted": weighted}
    for average, value in expected.items():
        metric = kind(3, average)
        for part in (slice(0, 4), slice(4, 6)):
            metric.update(*counted(ANSWERS[part], TARGETS[part]))
        assert metric.compute() == pytest.approx(value), average


def test_classes_that_do_not_occur_are_left_out() -> None:
    for kind in (metrics.Precision, metrics.Recall, metrics.F1):
        wide, narrow = kind(7), kind(3)
        wide.update(*counted(ANSWERS, TARGETS, 7))
        narrow.update(*counted(ANSWERS, TARGETS))
        assert wide.compute() == narrow.compute()
    unbalanced = metrics.Recall(2, "weighted")
    unbalanced.update(*counted([0, 0, 0, 1], [0, 0, 0, 0], 2))
    assert unbalanced.compute() == 0.75


def test_binary_metrics() -> None:
    logits, truth = engine.tensor([[2.0], [-1.0], [0.5], [3.0], [-2.0]]), engine.tensor([[1.0], [1], [0], [1], [0]])
    for kind, value in ((metrics.Precision, 2 / 3), (metrics.Recall, 2 / 3), (metrics.F1, 2 / 3)):
        metric = kind(1)
        metric.update(logits, truth)
        assert metric.compute() == pytest.approx(value)
    strict = metrics.Precision(1, threshold=2.5)
    strict.update(logits, truth)
    assert strict.compute() == 1


def test_a_confusion_matrix() -> None:
    metric = metrics.ConfusionMatrix(3)
    metric.update(*counted([0, 0, 2, 2, 0, 2], [2, 0, 2, 2, 0, 1]))  # scikit-learn's example
    assert metric.table() == [[2, 0, 0], [0, 0, 1], [1, 0, 2]]
    assert metric.compute() == pytest.approx(4 / 6)
    assert metrics.ConfusionMatrix(101).table() is None
    pixels = metrics.ConfusionMatrix(3)
    scores = engine.randn(2, 3, 4, 5)
    pixels.update(scores, scores.argmax(1))
    assert np.trace(pixels.matrix()) == 40


def test_the_area_under_the_curve() -> None:
    metric = metrics.AUC()
    metric.update(engine.tensor([0.1, 0.4, 0.35, 0.8]), engine.tensor([0, 0, 1, 1]))  # scikit-learn's example
    assert metric.compute() == 0.75
    metric.reset()
    metric.update(engine.tensor([0.5, 0.5, 0.5]), engine.tensor([0.0, 1.0, 1.0]))
    assert metric.compute() == 0.5
    metric.update(engine.tensor([0.1]), engine.tensor([0.0]))
    assert metric.compute() == pytest.approx((0.5 * 2 + 2) / 4)


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e4])
def test_the_area_of_many_scores(scale: float) -> None:
    generator = np.random.default_rng(0)
    truth = generator.random(3000) < 0.2
    scores = ((generator.normal(size=3000) + truth) * scale).astype(np.float32)
    metric = metrics.AUC()
    for part in np.array_split(np.arange(3000), 4):
        metric.update(engine.from_numpy(scores[part]), engine.from_numpy(truth[part].astype(np.float32)))
    yes, no = scores[truth].astype(np.float64), scores[~truth].astype(np.float64)
    exact = ((yes[:, None] > no).mean() + (yes[:, None] >= no).mean()) / 2
    assert metric.compute() == pytest.approx(exact, abs=2e-4)


def test_explained_variance() -> None:
    metric = metrics.R2()
    answers, targets = engine.tensor([2.5, 0.0, 2.0, 8.0]), engine.tensor([3.0, -0.5, 2.0, 7.0])
    for part in (slice(0, 1), slice(1, 4)):
        metric.update(answers[part], targets[part])
    assert metric.compute() == pytest.approx(0.9486081370449679)  # scikit-learn's example
    far = metrics.R2()
    far.update(answers.double() + 1e7, targets.double() + 1e7)
    assert far.compute() == pytest.approx(0.9486081370449679, rel=1e-6)
    same = metrics.R2()
    same.update(answers, engine.ones(4))
    assert math.isnan(same.compute())


def test_perplexity() -> None:
    metric = metrics.Perplexity()
    metric.update(engine.zeros(5, 7), engine.tensor([0, 1, 2, 3, -100]))
    assert metric.compute() == pytest.approx(7)
    words = metrics.Perplexity()
    scores, targets = engine.randn(2, 4, 3), engine.randint(0, 4, (2, 3))
    words.update(scores, targets)
    chances = scores.softmax(1).gather(1, targets.unsqueeze(1)).numpy()
    assert words.compute() == pytest.approx(np.exp(-np.log(chances).mean()), rel=1e-6)
    words.update(engine.tensor([[1e30, 0.0]]), engine.tensor([1]))
    assert words.compute() == math.inf


def test_perplexity_under_autocast_is_computed_in_float32() -> None:
    """As cross_entropy of PyTorch, which is on its float32 list for autocast."""
    scores, targets = engine.randn(16, 5).bfloat16(), engine.randint(0, 5, (16,))
    metric, expected = metrics.Perplexity(), metrics.Perplexity()
    with engine.autocast("cpu", dtype=engine.bfloat16):
        metric.update(scores, targets)
    expected.update(scores.float(), targets)
    assert metric.compute() == expected.compute()
    rounded = metrics.Perplexity()
    rounded.update(scores, targets)
    assert rounded.compute() != expected.compute()
