"""Parameters, shapes and types."""

from __future__ import annotations

from studio.lowering.problems.diagnosis import Diagnosis

PARAMETERS = (
    Diagnosis(
        "bad-parameter",
        "Invalid parameter",
        "A parameter has a value outside its declared type or bounds.",
    ),
    Diagnosis(
        "missing-parameter",
        "Missing parameter",
        "A parameter without a default needs a value.",
    ),
    Diagnosis(
        "unknown-parameter",
        "Unknown parameter",
        "The file sets a parameter that this type of node does not have.",
    ),
    Diagnosis(
        "bad-arguments",
        "Invalid combination of parameters",
        "Each parameter is valid alone, but not in this combination.",
    ),
    Diagnosis(
        "bad-data",
        "Unreadable data",
        "The files of a data source cannot be read as this source expects them.",
    ),
    Diagnosis(
        "shape-mismatch",
        "Shape mismatch",
        "The node cannot process a tensor of this shape.",
    ),
    Diagnosis(
        "literal-batch",
        "Batch size in a shape",
        "The last batch of an epoch may be smaller, so a shape must not contain the size of the batch.",
    ),
    Diagnosis(
        "wrong-dtype",
        "Wrong dtype",
        "Layers expect float32. Convert integers and float64 before them.",
    ),
    Diagnosis(
        "open-sizes",
        "Samples of different sizes",
        "All samples of a batch need the same size.",
    ),
    Diagnosis(
        "too-large",
        "Too large for memory",
        "Parameters, activations or data would take more memory than this machine has.",
    ),
)

__all__ = ["PARAMETERS"]
