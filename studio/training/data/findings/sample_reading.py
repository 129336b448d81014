"""Samples that rules look at, read once for all rules and edits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.data.sample_stream import first_samples
from engine.shape import count
from studio.training.data.findings.data_context import DataContext
from studio.training.data.row_sampling import rows_at_intervals
from studio.training.data.sample_preview import STREAM_SAMPLES, Part, Preview
from studio.training.warning_capture import capture_warnings

T = TypeVar("T")
MAX_ROWS = 4000
_MAX_NUMBERS = 1_500_000
"""Maximum number of values that are read for a rule."""


def measured(preview: Preview, key: Any, compute: Callable[[], T]) -> T:
    """A measurement of the samples, made once."""
    if key not in preview.measured:
        preview.measured[key] = compute()
    return preview.measured[key]


def inputs_at(data: DataContext, index: int, part: Part = "training", most: int = MAX_ROWS) -> NDArray[Any] | None:
    """Inputs after a node of the chain, in order; None if their sizes differ, or if there are none."""
    return _arrays(data, index, part, most)[0]


def targets_at(
    data: DataContext, index: int = -1, part: Part = "training", most: int = MAX_ROWS
) -> NDArray[Any] | None:
    """Targets of the same rows as `inputs_at`."""
    return _arrays(data, index, part, most)[1]


def _arrays(data: DataContext, index: int, part: Part, most: int) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    preview = data.preview
    return measured(preview, (index % len(preview.chain), part, most), lambda: _read(preview, index, part, most))


def _read(preview: Preview, index: int, part: Part, most: int) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    splits = preview.splits[index]
    samples = splits.train if part == "training" else splits.validation
    if samples is None:
        return None, None
    samples = first_samples(samples, STREAM_SAMPLES).with_augmentations(False)
    spec = splits.input
    size = 4096 if spec.is_open else max(int(count(spec.shape)), 1)
    rows = rows_at_intervals(len(samples), max(min(most, _MAX_NUMBERS // size), 2))
    with capture_warnings(lambda text: None):  # of images that are skipped, which are counted elsewhere
        inputs, targets = samples.arrays(rows)
    found = inputs if isinstance(inputs, np.ndarray) else None
    return found, targets if isinstance(targets, np.ndarray) else None


__all__ = ["inputs_at", "measured", "targets_at"]
