"""Scores, losses and metrics."""

from __future__ import annotations

from studio.lowering.problems.diagnosis import Diagnosis

SCORES = (
    Diagnosis(
        "squashed-scores",
        "Activation that the loss contains",
        "The loss already applies softmax or a sigmoid; applying it twice makes gradients small.",
    ),
    Diagnosis(
        "relu-on-scores",
        "ReLU on scores",
        "Negative scores mean that a class is unlikely; ReLU sets them to 0.",
    ),
    Diagnosis(
        "bounded-scores",
        "Bounded scores",
        "Scores between -1 and 1 give every class a similar probability, so the loss stays high.",
    ),
    Diagnosis(
        "dropout-on-scores",
        "Dropout on scores",
        "Dropout regularizes hidden layers; on scores it only adds noise to the loss.",
    ),
    Diagnosis(
        "no-probabilities",
        "Scores instead of probabilities",
        "Binary cross entropy computes logarithms of its input, which has to lie between 0 and 1.",
    ),
    Diagnosis(
        "no-log-probabilities",
        "Log-probabilities expected",
        "A loss that expects log-probabilities has no minimum for raw scores.",
    ),
    Diagnosis(
        "negative-variance",
        "Variance that can be negative",
        "The likelihood of a normal distribution contains the logarithm of its variance, which has to be positive.",
    ),
    Diagnosis(
        "rates-of-counts",
        "Rates of counts and their logarithms",
        "A Poisson loss reads its input as logarithms of expected counts, or as the counts if log_input is off.",
    ),
    Diagnosis(
        "softmax-over-batch",
        "Softmax over the batch",
        "Probabilities over the batch depend on which samples are in it.",
    ),
    Diagnosis(
        "softmax-over-one",
        "Softmax over a single score",
        "Softmax divides by the sum over a dimension. Over a single score the result is always 1.",
    ),
    Diagnosis(
        "softmax-over-positions",
        "Softmax over positions",
        "The probabilities of the classes of a sample or pixel have a sum of 1 only if softmax runs over the classes.",
    ),
    Diagnosis(
        "labels-from-one",
        "Labels that begin at 1",
        "Classes are numbered from 0, so the scores of a network begin with that of class 0.",
    ),
    Diagnosis(
        "labels-with-gaps",
        "Labels with gaps",
        "Classes are numbered from 0 without gaps. Numbers that do not occur get scores that are never a target.",
    ),
    Diagnosis(
        "wrong-target",
        "Wrong kind of target",
        "A classification loss expects class indices as targets; a regression loss expects numbers.",
    ),
    Diagnosis(
        "output-range",
        "Outputs that cannot reach the targets",
        "An activation or a recurrent layer limits the outputs of a network, which cannot learn targets beyond.",
    ),
    Diagnosis(
        "loss-setting",
        "Parameter of a loss without sense",
        "Some values of a loss's parameters leave it nothing to learn, or leave out classes.",
    ),
    Diagnosis(
        "zero-weight",
        "Loss with weight 0",
        "A weight of 0 removes a loss from the sum that the optimizer minimizes.",
    ),
    Diagnosis(
        "metric-threshold",
        "Threshold that does not suit the outputs",
        "A probability of 0.5 is a score of 0. With the other threshold a metric counts wrong answers as correct.",
    ),
    Diagnosis(
        "judged-head",
        "Metric of another layer than the trained one",
        "A metric is meaningful for the outputs that the loss with the same targets trains.",
    ),
    Diagnosis(
        "wrong-encoding",
        "Wrong encoding of classes",
        "One-hot encoding turns each class index into a vector with one element per class.",
    ),
    Diagnosis(
        "swapped-wires",
        "Swapped wires",
        "Sample inputs are connected to layers; targets are connected to losses and metrics.",
    ),
    Diagnosis(
        "wrong-metric",
        "Wrong kind of metric",
        "A metric expects predictions of one kind: classes, yes or no, or numbers.",
    ),
    Diagnosis(
        "class-weights",
        "Class weights for another number of classes",
        "A weighted loss multiplies the loss of each sample by the weight of its class.",
    ),
    Diagnosis(
        "one-class",
        "Only one class",
        "With a single class every prediction is correct.",
    ),
    Diagnosis(
        "too-few-classes",
        "Fewer scores than classes",
        "The loss looks up one score for each class of the data.",
    ),
    Diagnosis(
        "too-many-classes",
        "More scores than classes",
        "Scores for classes that the data does not have cost parameters and are never correct.",
    ),
)

__all__ = ["SCORES"]
