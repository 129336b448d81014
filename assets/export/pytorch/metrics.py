"""Metrics over all batches since `reset`."""

import math

import torch
import torch.nn.functional as F


class MeanMetric:
    """Base of metrics that are a mean over elements."""

    higher_is_better = True

    def __init__(self):
        self.reset()

    def reset(self):
        self.total = self.count = 0.0

    @torch.no_grad()
    def update(self, input, target):
        self.total += float(self.batch_sum(input, target))
        self.count += float(self.batch_count(target))

    def batch_count(self, target):
        return target.numel()

    def compute(self):
        return self.from_mean(self.total / self.count) if self.count else math.nan

    def from_mean(self, mean):
        return mean


class Accuracy(MeanMetric):
    """Fraction of samples whose target class has the highest score."""

    def batch_sum(self, input, target):
        return (input.argmax(1) == target).sum()


class TopKAccuracy(MeanMetric):
    """Fraction of samples whose target class is among the k highest scores."""

    def __init__(self, k=5):
        super().__init__()
        self.k = k

    def batch_sum(self, input, target):
        target_scores = input.gather(1, target.unsqueeze(1))
        return ((input >= target_scores).sum(1) - 1 < self.k).sum()


class BinaryAccuracy(MeanMetric):
    """Fraction of elements on the correct side of a threshold."""

    def __init__(self, threshold=0.0):
        super().__init__()
        self.threshold = threshold

    def batch_sum(self, input, target):
        return ((input > self.threshold) == (target > 0.5)).sum()


class MeanAbsoluteError(MeanMetric):
    """Mean absolute difference between input and target."""

    higher_is_better = False

    def batch_sum(self, input, target):
        return (input - target).abs().double().sum()


class RootMeanSquaredError(MeanMetric):
    """Root mean squared difference between input and target."""

    higher_is_better = False

    def batch_sum(self, input, target):
        return (input - target).double().square().sum()

    def from_mean(self, mean):
        return mean**0.5


class Perplexity(MeanMetric):
    """Exponential of the mean cross entropy."""

    higher_is_better = False

    def __init__(self, ignore_index=-100):
        super().__init__()
        self.ignore_index = ignore_index

    def batch_sum(self, input, target):
        ignored = self.ignore_index
        return F.cross_entropy(input, target, ignore_index=ignored, reduction="sum")

    def batch_count(self, target):
        return (target != self.ignore_index).sum()

    def from_mean(self, mean):
        return math.exp(mean) if mean < 700 else math.inf


class R2:
    """Coefficient of determination: 1 is perfect, 0 as good as the mean."""

    higher_is_better = True

    def __init__(self):
        self.reset()

    def reset(self):
        self.count, self.mean, self.squares, self.errors = 0, 0.0, 0.0, 0.0

    @torch.no_grad()
    def update(self, input, target):
        predictions, values = input.double(), target.double()
        mean, size = values.mean().item(), values.numel()
        shift, total = mean - self.mean, self.count + size
        self.squares += (values - mean).square().sum().item()
        self.squares += shift * shift * size * self.count / total
        self.mean += shift * size / total
        self.errors += (values - predictions).square().sum().item()
        self.count = total

    def compute(self):
        return 1 - self.errors / self.squares if self.squares > 0 else math.nan


class ClassCounts:
    """Base of metrics from counts of predictions, targets and hits per class.

    With `num_classes` = 1, the input is one score per sample, compared with `threshold`.
    """

    higher_is_better = True

    def __init__(self, num_classes, average="macro", threshold=0.0):
        self.num_classes = num_classes
        self.average = average
        self.threshold = threshold
        self.reset()

    def reset(self):
        empty = torch.zeros(self.num_classes, dtype=torch.float64)
        self.correct, self.predicted, self.actual = empty, empty, empty

    @torch.no_grad()
    def update(self, input, target):
        if self.num_classes == 1:
            predicted = (input > self.threshold).double().reshape(-1, 1).cpu()
            actual = (target > 0.5).double().reshape(-1, 1).cpu()
        else:
            classes = self.num_classes
            predicted = F.one_hot(input.argmax(1).reshape(-1), classes).double().cpu()
            actual = F.one_hot(target.reshape(-1), classes).double().cpu()
        self.correct = self.correct + (predicted * actual).sum(0)
        self.predicted = self.predicted + predicted.sum(0)
        self.actual = self.actual + actual.sum(0)

    def compute(self):
        counts = [self.correct, self.predicted, self.actual]
        present = self.predicted + self.actual > 0
        if not present.any():
            return math.nan
        if self.average == "micro":
            return self.per_class(*(count.sum() for count in counts)).item()
        values = self.per_class(*(count[present] for count in counts))
        if self.average == "weighted" and self.actual.any():
            weights = self.actual[present]
            return ((values * weights).sum() / weights.sum()).item()
        return values.mean().item()


class Precision(ClassCounts):
    """Fraction of the predictions of a class that are correct."""

    def per_class(self, correct, predicted, actual):
        return correct / predicted.clamp(min=1)


class Recall(ClassCounts):
    """Fraction of the targets of a class that are predicted correctly."""

    def per_class(self, correct, predicted, actual):
        return correct / actual.clamp(min=1)


class F1(ClassCounts):
    """Harmonic mean of precision and recall."""

    def per_class(self, correct, predicted, actual):
        return 2 * correct / (predicted + actual).clamp(min=1)


class ConfusionMatrix:
    """Counts by target class and predicted class; the value is the accuracy."""

    higher_is_better = True

    def __init__(self, num_classes):
        self.num_classes = num_classes
        self.reset()

    def reset(self):
        size = (self.num_classes, self.num_classes)
        self.matrix = torch.zeros(size, dtype=torch.int64)

    @torch.no_grad()
    def update(self, input, target):
        bins = (target * self.num_classes + input.argmax(1)).reshape(-1).cpu()
        counts = torch.bincount(bins, minlength=self.num_classes**2)
        self.matrix += counts.reshape(self.matrix.shape)

    def compute(self):
        total = self.matrix.sum().item()
        return self.matrix.trace().item() / total if total else math.nan


class AUC:
    """Area under the ROC curve, from scores that are counted in 65,536 bins."""

    higher_is_better = True
    bins = 65_536

    def __init__(self):
        self.reset()

    def reset(self):
        self.positive = torch.zeros(self.bins, dtype=torch.float64)
        self.negative = torch.zeros(self.bins, dtype=torch.float64)

    @torch.no_grad()
    def update(self, input, target):
        scores = input.reshape(-1).double().cpu()
        logs = scores.sign() * (scores.abs() * 1e6).log1p() / 28.0
        bins = ((logs + 1) * (self.bins / 2)).floor().clamp(0, self.bins - 1).long()
        positive = (target.reshape(-1) > 0.5).cpu()
        self.positive += torch.bincount(bins[positive], minlength=self.bins)
        self.negative += torch.bincount(bins[~positive], minlength=self.bins)

    def compute(self):
        below = self.negative.cumsum(0) - self.negative
        pairs = (self.positive.sum() * self.negative.sum()).item()
        ranked = (self.positive * (below + self.negative / 2)).sum().item()
        return ranked / pairs if pairs else math.nan
