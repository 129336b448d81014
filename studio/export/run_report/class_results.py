"""Predictions of a network for validation samples, by class."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import Tensor, fit, no_grad
from engine.data.batches import Batches, JointBatches
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
    confusion = np.zeros((len(names), len(names)), np.int64)
    wrong: list[WrongPrediction] = []
    seen, expected = 0, min(_samples(task), MAX_SAMPLES)
    with evaluation_mode(task.model), no_grad():
        reset_states(task.model)
        for batch in evaluation_batches(task, MAX_SAMPLES):
            arguments = model_call(task, batch).arguments
            scores = next(tensors_of(task.model(*arguments)), None)
            targets = _targets(batch, arguments, scores, len(names))
            if targets is None or scores is None:
                return None
            probabilities = _softmax(scores.numpy(force=True))
            predicted = probabilities.argmax(1)
            np.add.at(confusion, (targets, predicted), 1)
            inputs = arguments[0].numpy(force=True)
            for row in np.flatnonzero(predicted != targets).tolist():
                highest, target = float(probabilities[row].max()), int(targets[row])
                wrong.append(WrongPrediction(seen + row, target, int(predicted[row]), highest, inputs[row].copy()))
            wrong = sorted(wrong, key=lambda each: (-each.probability, each.sample))[:MAX_MISTAKES]
            seen += len(targets)
            yield min(seen / max(expected, 1), 1.0)
    return ClassResults(names, confusion, tuple(wrong), "training" if splits.validation is None else "validation")


def _samples(task: fit.Task) -> int:
    batches = task.setup()
    assert isinstance(batches, (Batches, JointBatches))
    samples = splits_of(task).validation
    return len(splits_of(task).train if samples is None else samples)


def _targets(
    batch: Any, arguments: tuple[Tensor, ...], scores: Tensor | None, classes: int
) -> NDArray[np.int64] | None:
    """The class of each sample of a batch; None unless there is one score per class, and one tensor of classes."""
    if scores is None or scores.ndim != 2 or scores.shape[1] != classes:
        return None
    inputs = {id(each) for each in arguments}
    found = [
        each.numpy(force=True)
        for each in tensors_of(batch)
        if id(each) not in inputs and each.shape == scores.shape[:1] and not each.dtype.is_floating_point
    ]
    if len(found) != 1 or (found[0].size and not 0 <= found[0].min() <= found[0].max() < classes):
        return None
    return found[0].astype(np.int64)


def _softmax(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Probabilities of rows of scores. Scores that are logarithms of probabilities give these probabilities."""
    shifted = np.nan_to_num(scores.astype(np.float64), nan=-np.inf, posinf=np.inf)
    shifted = np.exp(np.clip(shifted - shifted.max(1, keepdims=True), -700, 0))
    return shifted / shifted.sum(1, keepdims=True)


__all__ = ["MAX_MISTAKES", "MAX_SAMPLES", "ClassResults", "WrongPrediction", "class_results"]
