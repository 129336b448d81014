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
        "few-embeddings",
        "Embedding too small",
        "An embedding looks up one row per index, so it needs more rows than the largest index.",
    ),
)

__all__ = ["LAYERS"]
