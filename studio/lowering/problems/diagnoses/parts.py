"""Parts that a run needs."""

from __future__ import annotations

from studio.lowering.problems.diagnosis import Diagnosis

PARTS = (
    Diagnosis(
        "empty",
        "Empty project",
        "A run needs data, a loader, layers, a loss and an optimizer.",
    ),
    Diagnosis(
        "no-data",
        "No data source",
        "A run reads its samples from a data source.",
    ),
    Diagnosis(
        "no-loader",
        "No loader",
        "A loader combines samples into the batches that layers process.",
    ),
    Diagnosis(
        "no-loss",
        "No loss",
        "Training minimizes a loss.",
    ),
    Diagnosis(
        "no-optimizer",
        "No optimizer",
        "An optimizer changes the parameters so that its loss becomes smaller.",
    ),
    Diagnosis(
        "several-loaders",
        "Several loaders",
        "Several loaders give one batch each per step, so the number of their batches must be known.",
    ),
    Diagnosis(
        "batch-sizes",
        "Different batch sizes",
        "Tensors of one step can be combined if their batches have the same size.",
    ),
    Diagnosis(
        "loss-not-scalar",
        "Loss with several values",
        "Gradients are computed for a single value; reduction mean or sum reduces the loss to one.",
    ),
    Diagnosis(
        "nothing-to-train",
        "Nothing to train",
        "An optimizer trains layers with parameters that its loss depends on and that are not frozen.",
    ),
    Diagnosis(
        "shared-weights",
        "Invalid weight sharing",
        "Nodes that share weights are one layer, which is called several times in a step.",
    ),
    Diagnosis(
        "shared-layers",
        "Layer with two optimizers",
        "Two optimizers that change the same parameters undo each other's steps.",
    ),
    Diagnosis(
        "unknown-layer",
        "Unknown layer to train",
        "An optimizer can only train layers with parameters that its loss depends on.",
    ),
    Diagnosis(
        "no-gradient",
        "No gradient",
        "A layer learns from the gradient that flows back from the loss through every operation between.",
    ),
    Diagnosis(
        "left-alone",
        "Layer without an optimizer",
        "A layer that no optimizer trains keeps its random initial values.",
    ),
    Diagnosis(
        "unknown-figure",
        "Unknown metric to follow",
        "The best weights are selected by a loss or metric that the run computes.",
    ),
)

__all__ = ["PARTS"]
