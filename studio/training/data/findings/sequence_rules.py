"""Sequences in files whose targets are the next elements, which only their values show."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studio.lowering.checks.sequences.causality_checks import visible_elements
from studio.lowering.problems.problem import Problem
from studio.training.data.findings.data_context import DataContext
from studio.training.data.findings.sample_reading import inputs_at, measured, targets_at

MIN_STEPS = 3
MIN_DIFFERENT = 3
"""Number of different values from which equal elements are no coincidence."""


def sequence_problems(data: DataContext) -> Iterator[Problem]:
    """Layers that read the elements that they have to predict."""
    if data.flow is None or data.loader is None or data.training.is_stream:
        return
    length = measured(data.preview, "next elements", lambda: _next_elements(data))
    if length is not None:
        yield from visible_elements(data.flow, data.loader, length)


def _next_elements(data: DataContext) -> int | None:
    """The length of sequences whose targets are the same sequences, one step later."""
    inputs, targets = inputs_at(data, -1), targets_at(data)
    if inputs is None or targets is None or inputs.shape != targets.shape or inputs.ndim not in (2, 3):
        return None
    if inputs.shape[1] < MIN_STEPS or len(np.unique(inputs[:100])) < MIN_DIFFERENT:
        return None
    return inputs.shape[1] if np.array_equal(inputs[:, 1:], targets[:, :-1]) else None


__all__ = ["sequence_problems"]
