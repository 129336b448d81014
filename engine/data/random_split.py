"""Random splits of data sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from engine.data.dataset import Subset
from engine.random import Generator, default_generator


def random_split(dataset: Any, lengths: Sequence[int | float], generator: Generator | None = None) -> list[Subset]:
    """Split a data set at random into disjoint subsets.

    Args:
        dataset: a map-style data set
        lengths: counts that add up to its length, or fractions that add up to 1; the remainder of rounding goes to the
            subsets in turn
        generator: random generator; the default generator if None

    Raises:
        ValueError: the lengths are negative or do not add up.
    """
    size = len(dataset)
    counts = _counts(size, lengths)
    order = (generator or default_generator).permutation(size)
    ends = [sum(counts[: part + 1]) for part in range(len(counts))]
    return [Subset(dataset, order[end - count : end]) for end, count in zip(ends, counts, strict=True)]


def _counts(size: int, lengths: Sequence[int | float]) -> list[int]:
    if any(length < 0 for length in lengths):
        raise ValueError(f"random_split: lengths must not be negative, but are {list(lengths)}.")
    if math.isclose(sum(lengths), 1):
        counts = [math.floor(size * share) for share in lengths]
        for part in range(size - sum(counts)):
            counts[part % len(counts)] += 1
        return counts
    if any(length != int(length) for length in lengths) or sum(lengths) != size:
        raise ValueError(
            f"random_split: lengths {list(lengths)} add up to {sum(lengths):g}, but the data set has {size} samples. "
            "Set counts that add up to it, or fractions that add up to 1."
        )
    return [int(length) for length in lengths]
