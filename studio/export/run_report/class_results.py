"""Predictions of a network for validation samples, by class."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import Tensor, fit, no_grad
from engine.metrics import ConfusionMatrix
from engine.nn.functional import softmax
from engine.nn.utils import reset_states
from engine.tracing.model_trace import evaluation_mode, tensors_of
from studio.export.model_call import evaluation_batches, model_call
from studio.training.prediction import splits_of

MAX_SAMPLES = 20_000
"""Samples that are predicted."""
MAX_MISTAKES = 24


@dataclass(frozen=True, slots=True)
class WrongPrediction:
    """A sample that the network assigns to another class."""

    sample: int
    """Number among the predicted samples."""
    target: int
    predicted: int
    probability: float
    """Of the predicted class."""
    input: NDArray[Any]
    """The first input of the network, after the transforms."""


@dataclass(frozen=True, slots=True)
class ClassResults:
    """Predictions by class."""

    names: tuple[str, ...]
    confusion: NDArray[np.int64]
    """Numbers of samples, by target (rows) and prediction (columns)."""
    wrong: tuple[WrongPrediction, ...]
    """The wrong predictions with the highest probabilities."""
    part: str
    """"validation", or "training" without validation samples."""

    @property
    def samples(self) -> int:
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        return float(np.trace(self.confusion) / max(self.samples, 1))


def class_results(task: fit.Task) -> Generator[float, None, ClassResults | None]:
    """Predict validation samples with the weights of a task. Yields the completed share.

    Returns:
        the results; None if the network does not give one score per class for targets that are classes.
    """
    splits = splits_of(task)
    names = splits.class_names or tuple(map(str, range(splits.classes or 0)))
    if len(names) < 2:
        return None
    matrix = ConfusionMatrix(len(names))
    wrong: list[WrongPrediction] = []
    samples = splits.train if splits.validation is None else splits.validation
    seen, expected = 0, max(min(len(samples), MAX_SAMPLES), 1)
    with evaluation_mode(task.model), no_grad():
        reset_states(task.model)
        for batch in evaluation_batches(task, MAX_SAMPLES):
            arguments = model_call(task, batch).arguments
            scores = next(tensors_of(task.model(*arguments)), None)
            targets = _targets(batch, arguments, scores, len(names))
            if targets is None or scores is None:
                return None
            matrix.accumulate(scores, targets)
            wrong = sorted(
                [*wrong, *_wrong(scores, targets, arguments[0], seen)],
                key=lambda each: (-each.probability, each.sample),
            )[:MAX_MISTAKES]
            seen += len(targets)
            yield min(seen / expected, 1.0)
    part = "training" if splits.validation is None else "validation"
    return ClassResults(names, matrix.matrix(), tuple(wrong), part)


def _wrong(scores: Tensor, targets: Tensor, inputs: Tensor, first: int) -> Iterator[WrongPrediction]:
    """The wrong predictions of a batch. Scores that are logarithms of probabilities give these probabilities."""
    highest, predicted = softmax(scores, 1).max(1)
    rows = zip(predicted.tolist(), targets.tolist(), highest.tolist(), strict=True)
    for row, (found, target, probability) in enumerate(rows):
        if found != target:
            yield WrongPrediction(first + row, target, found, probability, inputs[row].numpy(force=True).copy())


def _targets(batch: Any, arguments: tuple[Tensor, ...], scores: Tensor | None, classes: int) -> Tensor | None:
    """The class of each sample of a batch; None unless there is one score per class, and one tensor of classes."""
    if scores is None or scores.ndim != 2 or scores.shape[1] != classes:
        return None
    inputs = {id(each) for each in arguments}
    found = [
        each
        for each in tensors_of(batch)
        if id(each) not in inputs and each.shape == scores.shape[:1] and not each.dtype.is_floating_point
    ]
    return found[0].to(scores.device).long() if len(found) == 1 else None


__all__ = ["MAX_MISTAKES", "MAX_SAMPLES", "ClassResults", "WrongPrediction", "class_results"]
