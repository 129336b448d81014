"""The range of inputs."""

from __future__ import annotations

from collections.abc import Iterator

from studio.lowering.problems.problem import Problem
from studio.training.data.findings.data_context import DataContext

MIN_INPUT_RANGE = 0.1
"""Range of inputs below which usual learning rates are too low."""


def scaling_problems(data: DataContext) -> Iterator[Problem]:
    yield from _narrow(data)


def _narrow(data: DataContext) -> Iterator[Problem]:
    """Inputs with a small range, for example digits from 0 to 16 divided by 255."""
    part = data.training
    channels = [channel for channel in part.channels if channel.numbers]
    if part.looked_at < 2 or not channels or not data.found.spec.dtype.is_floating_point:
        return
    low, high = min(channel.low for channel in channels), max(channel.high for channel in channels)
    if 0 < high - low < MIN_INPUT_RANGE:
        message = (
            f"All training inputs lie between {low:.3g} and {high:.3g}, so a network learns slowly. "
            "Use Normalize with Compute from data instead of To float."
        )
        yield Problem("warning", "narrow", message, node=data.source.name, evidence={"low": low, "high": high})


__all__ = ["scaling_problems"]
