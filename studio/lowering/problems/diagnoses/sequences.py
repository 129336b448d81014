"""Sequences and carried states."""

from __future__ import annotations

from studio.lowering.problems.diagnosis import Diagnosis

SEQUENCES = (
    Diagnosis(
        "sequence-along-batch",
        "Sequence along the batch",
        "Without batch_first, a sequence layer reads dimension 0 as time; it is the batch.",
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
