"""Layers and operations."""

from __future__ import annotations

from studio.lowering.problems.diagnosis import Diagnosis

LAYERS = (
    Diagnosis(
        "no-activation",
        "No activation between layers",
        "Two linear layers in a row compute one linear map.",
    ),
    Diagnosis(
        "in-place-shared",
        "Shared tensor changed in place",
        "An in-place operation overwrites the tensor for all nodes that read it.",
    ),
    Diagnosis(
        "in-place-saved",
        "Result changed before the backward pass",
        "The gradients of sigmoid, tanh, ReLU, softmax and others are computed from their results.",
    ),
    Diagnosis(
        "window-too-large",
        "Window larger than the image",
        "Strides and pooling make images smaller; a later window may not fit into what is left.",
    ),
    Diagnosis(
        "batch-reduced",
        "Reduction over the batch",
        "Dimension 0 is the batch. A loss needs a prediction for each sample in it.",
    ),
    Diagnosis(
        "bias-before-norm",
        "Bias before batch norm",
        "Batch normalization subtracts the mean of each channel and adds a bias, so a bias before it has no effect.",
    ),
    Diagnosis(
        "dropout-high",
        "Dropout of almost all values",
        "Usual shares are 0.1 to 0.5. Above 0.9, the next layer sees hardly anything of its input.",
    ),
    Diagnosis(
        "dropout-without-effect",
        "Dropout without effect",
        "With p 0, dropout outputs its input.",
    ),
    Diagnosis(
        "zero-weights",
        "Hidden layer of zeros",
        "A layer whose weights are all 0 passes nothing of its input on, and no gradient back.",
    ),
    Diagnosis(
        "initial-scale",
        "Initial weights too large or too small",
        "Values should keep their size from layer to layer. Otherwise they saturate or vanish before training begins.",
    ),
    Diagnosis(
        "unused-initialization",
        "Initial values without effect",
        "A layer without a bias, or with the weights of another one, has nothing to initialize.",
    ),
    Diagnosis(
        "joined-batches",
        "Concatenation along the batch",
        "Dimension 0 is the batch; concatenate features along another dimension.",
    ),
    Diagnosis(
        "batch-norm-single",
        "Batch norm with one value",
        "Batch normalization needs the mean and variance of several values per feature.",
    ),
    Diagnosis(
        "running-averages",
        "Running averages of a normalization",
        "Validation normalizes with running averages of training: momentum is the share of each new batch in them.",
    ),
    Diagnosis(
        "normalization-epsilon",
        "Normalization with an unusual eps",
        "eps keeps the division by the standard deviation finite, and must be small beside the variance.",
    ),
    Diagnosis(
        "kernel-in-padding",
        "Kernel that mostly meets padding",
        "Padding lets a kernel be larger than the image, but weights that only meet zeros learn nothing.",
    ),
    Diagnosis(
        "channels-last",
        "Images with channels last",
        "Convolutions expect channels in dimension 1; many files have them in the last one.",
    ),
    Diagnosis(
        "reshape-mixes",
        "Reshape instead of a transpose",
        "A reshape keeps the order of values. Swapping two dimensions changes it.",
    ),
    Diagnosis(
        "few-embeddings",
        "Embedding too small",
        "An embedding looks up one row per index, so it needs more rows than the largest index.",
    ),
)

__all__ = ["LAYERS"]
