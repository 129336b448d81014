"""Rows at even intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def rows_at_intervals(total: int, most: int) -> NDArray[np.int64]:
    """All rows, or one row from each of `most` equal intervals."""
    if total <= most:
        return np.arange(total)
    edges = np.linspace(0, total, most + 1)
    offsets = np.random.default_rng(0).random(most)  # so that alternating classes are sampled equally
    return (edges[:-1] + offsets * np.diff(edges)).astype(np.int64)


__all__ = ["rows_at_intervals"]
