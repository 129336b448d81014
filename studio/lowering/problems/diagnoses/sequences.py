"""Sequences and carried states."""

from __future__ import annotations

from studio.lowering.problems.diagnosis import Diagnosis

SEQUENCES = (
    Diagnosis(
        "sequence-along-batch",
        "Sequence along the batch",
        "A layer that reads the batch as time mixes the samples, and its outputs depend on their order.",
    ),
    Diagnosis(
        "sequence-along-features",
        "Steps treated as channels",
        "Convolutions, pooling and batch norm of sequences expect N×E×T; embeddings and recurrent layers output N×T×E.",
    ),
    Diagnosis(
        "next-element-visible",
        "Next element visible",
        "A model that predicts the next element learns nothing if it can read that element.",
    ),
    Diagnosis(
        "no-step-selected",
        "Outputs of all steps at a loss of samples",
        "Layers of sequences output each step. A loss with one target per sample needs one step, or the mean of all.",
    ),
    Diagnosis(
        "first-step-selected",
        "First step of a recurrent layer",
        "The first output of a recurrent layer depends on the first element only; the last one on the whole sequence.",
    ),
    Diagnosis(
        "tokens-as-numbers",
        "Token numbers as quantities",
        "A token's number is a name, not a quantity. An embedding gives each token a vector that is learned.",
    ),
    Diagnosis(
        "padding-not-masked",
        "Attention to padding",
        "Padding makes sequences equally long. Without a mask, attention reads it as if it were data.",
    ),
    Diagnosis(
        "state-order",
        "Carried state with shuffled samples",
        "A carried state continues a sequence, so each row of a batch must follow that row of the last one.",
    ),
    Diagnosis(
        "state-gaps",
        "Carried state with gaps",
        "A carried state continues a sequence, so each sample must start where the previous one ends.",
    ),
    Diagnosis(
        "state-shared",
        "Shared carried state",
        "Nodes that share weights are one layer with one carried state.",
    ),
    Diagnosis(
        "state-unused",
        "Unused carried state",
        "A carried state has an effect if one node reads it and another one keeps the new value.",
    ),
)

__all__ = ["SEQUENCES"]
