"""Metrics, which accumulate batches on their device and are read at the end of an epoch."""

from engine.metrics.accuracy import Accuracy as Accuracy
from engine.metrics.accuracy import BinaryAccuracy as BinaryAccuracy
from engine.metrics.accuracy import TopKAccuracy as TopKAccuracy
from engine.metrics.class_counts import AUC as AUC
from engine.metrics.class_counts import F1 as F1
from engine.metrics.class_counts import ConfusionMatrix as ConfusionMatrix
from engine.metrics.class_counts import Precision as Precision
from engine.metrics.class_counts import Recall as Recall
from engine.metrics.metric import MeanMetric as MeanMetric
from engine.metrics.metric import Metric as Metric
from engine.metrics.regression import R2 as R2
from engine.metrics.regression import MeanAbsoluteError as MeanAbsoluteError
from engine.metrics.regression import Perplexity as Perplexity
from engine.metrics.regression import RootMeanSquaredError as RootMeanSquaredError

__all__ = [
    "AUC",
    "F1",
    "R2",
    "Accuracy",
    "BinaryAccuracy",
    "ConfusionMatrix",
    "MeanMetric",
    "MeanAbsoluteError",
    "Metric",
    "Perplexity",
    "Precision",
    "Recall",
    "RootMeanSquaredError",
    "TopKAccuracy",
]
