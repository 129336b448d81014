"""Projection of the rows of a tensor on their first two principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_POINTS = 1000
MAX_FEATURES = 65_536
"""Features beyond these are left out at equal intervals."""


@dataclass(frozen=True, slots=True)
class Projection:
    """Rows as points."""

    points: NDArray[np.float64]
    """Count × 2, centered."""
    explained: tuple[float, float]
    """Share of the variance along each axis."""
    total: int
    """Number of rows of the tensor. The first ones are shown."""
    labels: NDArray[np.int64] | None = None
    """Class of each point."""
    names: tuple[str, ...] = ()
    """Names of the classes by number; empty if they have none."""
    left_out: int = 0
    """Rows with NaN or infinite values."""


def project(array: NDArray[Any], labels: NDArray[np.int64] | None = None, names: tuple[str, ...] = ()) -> Projection:
    """Principal component analysis of the rows, with dimensions after the first as features.

    The sign of each axis is the one for which its largest coordinate is positive, so that a point does not jump to the
    other side between two steps.
    """
    rows = array.reshape(array.shape[0], -1)[:MAX_POINTS].astype(np.float64)
    if rows.shape[1] > MAX_FEATURES:
        rows = rows[:, np.linspace(0, rows.shape[1] - 1, MAX_FEATURES).astype(np.int64)]
    finite = np.isfinite(rows).all(axis=1)
    left_out = int(finite.size - finite.sum())
    rows = rows[finite]
    chosen = labels[: finite.size][finite] if labels is not None and len(labels) == len(array) else None
    if len(rows) < 2:
        return Projection(np.zeros((len(rows), 2)), (0.0, 0.0), len(array), chosen, names, left_out)
    centered = rows - rows.mean(axis=0)
    # The smaller of the two products has the same first components as the singular value decomposition.
    gram = centered @ centered.T if len(rows) <= rows.shape[1] else centered.T @ centered
    values, vectors = np.linalg.eigh(gram)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    if len(rows) <= rows.shape[1]:
        points = vectors[:, :2] * np.sqrt(values[:2])
    else:
        points = centered @ vectors[:, :2]
    points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
    at = np.abs(points).argmax(axis=0)
    points = points * np.where(points[at, (0, 1)] < 0, -1.0, 1.0)
    whole = float(values.sum())
    shares = [float(value) / whole if whole else 0.0 for value in (*values[:2], 0.0)][:2]
    return Projection(points, (shares[0], shares[1]), len(array), chosen, names, left_out)


__all__ = ["MAX_POINTS", "Projection", "project"]
