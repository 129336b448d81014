"""What only a run shows."""

from __future__ import annotations

from studio.lowering.problems.diagnosis import Diagnosis

RUNS = (
    Diagnosis(
        "diverged",
        "Training diverges",
        "The loss grows without bound, usually because the learning rate is too high.",
    ),
    Diagnosis(
        "learning-rate-too-high",
        "Learning rate too high",
        "Steps that change the weights by more than a few percent jump over the minimum, so the loss stays high or "
        "grows. Adaptive optimizers change each weight by about the learning rate in each step.",
    ),
    Diagnosis(
        "oscillating-loss",
        "Oscillating loss",
        "A loss that rises and falls again and again shows steps that are too long for the curvature of the loss.",
    ),
    Diagnosis(
        "learning-rate-too-low",
        "Learning rate too low",
        "A usual step changes the weights by about a thousandth; far smaller ones need far more epochs.",
    ),
    Diagnosis(
        "vanishing-gradients",
        "Vanishing gradients",
        "Each sigmoid or tanh makes the gradient smaller, so the first layers of a deep network do not learn.",
    ),
    Diagnosis(
        "exploding-gradients",
        "Exploding gradients",
        "Long recurrences and large weights multiply the gradient at each step; clipping bounds the update.",
    ),
    Diagnosis(
        "dead-relu",
        "Dead ReLUs",
        "A ReLU that is 0 for all samples gets no gradient, so its weights never change again.",
    ),
    Diagnosis(
        "saturated-units",
        "Saturated activations",
        "At the limits of a sigmoid or tanh the gradient is almost 0, so the layers before it do not learn.",
    ),
    Diagnosis(
        "unrelated-targets",
        "Targets unrelated to the inputs",
        "A network that fits training samples but no others has found no relation of inputs and targets.",
    ),
    Diagnosis(
        "overfitting",
        "Overfitting",
        "After the epoch with the lowest validation loss, the network learns details of training samples.",
    ),
    Diagnosis(
        "underfitting",
        "Underfitting",
        "A network with too few units cannot follow the relation of inputs and targets.",
    ),
    Diagnosis(
        "float16-overflow",
        "Overflow in float16",
        "Float16 ends at 65504; steps with infinite gradients are skipped. Bfloat16 has the range of float32.",
    ),
    Diagnosis(
        "float16-underflow",
        "Underflow in float16",
        "Values below 6e-8 are 0 in float16, so their gradients are lost. Bfloat16 has the range of float32.",
    ),
    Diagnosis(
        "graph-breaks",
        "Graph breaks in the training step",
        "At each value that Python reads from a tensor, the compiled step ends and a new one begins.",
    ),
    Diagnosis(
        "not-observed",
        "Layers are not observed",
        "Statistics of layers are measured by computing a batch once more, which code with effects does not allow.",
    ),
    Diagnosis(
        "validation-not-finite",
        "Validation loss is NaN",
        "A validation loss that is NaN cannot choose the best weights or stop training early.",
    ),
    Diagnosis(
        "slow-data",
        "Waiting for data",
        "Training spends a large part of each step waiting for data.",
    ),
    Diagnosis(
        "not-learning",
        "Cannot overfit one batch",
        "A correctly wired network can overfit a single batch.",
    ),
    Diagnosis(
        "unused-inputs",
        "Unused inputs",
        "A network whose predictions do not depend on its inputs only learns the mean of the targets.",
    ),
    Diagnosis(
        "high-first-loss",
        "First loss above chance",
        "Before training, a sound network is about as wrong as constant predictions; larger outputs must shrink first.",
    ),
    Diagnosis(
        "unfit-targets",
        "Targets that do not fit the loss",
        "A loss has a minimum only for targets in its range that differ between samples.",
    ),
)

__all__ = ["RUNS"]
