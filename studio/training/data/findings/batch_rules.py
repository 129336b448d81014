"""Order and size of batches: sorted samples without shuffling, and a single batch per epoch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role
from studio.training.data.findings.data_context import DataContext
from studio.training.data.findings.sample_reading import targets_at

MIN_SAMPLES = 50
MAX_CHANGES = 0.2
"""Ratio of changes of the class to those of a random order, below which samples are sorted."""
MIN_CORRELATION = 0.95
"""Rank correlation of targets with their position from which samples are sorted."""
MIN_FULL_BATCH = 64
"""Number of samples from which a single batch per epoch may be a mistake."""
MIN_STEPS = 100
"""Number of training steps from which full batches are taken as intended."""
BATCHES = 10
FULL_BATCH_OPTIMIZERS = frozenset({"optim.LBFGS", "optim.Rprop"})
"""Optimizers that need the gradient of all samples."""


def batch_problems(data: DataContext) -> Iterator[Problem]:
    if data.loader is None or data.training.is_stream:
        return
    values = data.preview.chain[-1].values
    size, samples = values.get("batch_size"), data.training.samples
    if not isinstance(size, int):
        return
    if size >= samples:
        if values.get("shuffle"):
            yield from _single_batch(data, size)
    elif not values.get("shuffle") and not values.get("contiguous"):
        yield from _sorted(data)


def _sorted(data: DataContext) -> Iterator[Problem]:
    targets = targets_at(data)
    if targets is None or len(targets) < MIN_SAMPLES or targets.size != len(targets):
        return
    ordered = targets.reshape(-1).astype(np.float64)
    if not np.isfinite(ordered).all():
        return
    different, counts = np.unique(ordered, return_counts=True)
    if len(different) < 2:
        return
    if data.found.classes is None:
        ranks = np.unique(ordered, return_inverse=True)[1]
        correlation = float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1])
        is_sorted, evidence = abs(correlation) > MIN_CORRELATION, {"correlation": correlation}
        what = "by their target"
    else:
        changes = float((ordered[1:] != ordered[:-1]).mean())
        expected = 1 - float(((counts / len(ordered)) ** 2).sum())
        is_sorted, evidence = changes < MAX_CHANGES * expected, {"changes": changes, "expected": expected}
        what = "by class"
    if is_sorted:
        message = (
            f"The training samples are sorted {what}{data.scope()}, and {data.loader} does not shuffle them, so each "
            "batch has similar targets. Turn shuffle on."
        )
        fix = quick_fixes.assign(str(data.loader), "shuffle", value=True)
        yield Problem("warning", "sorted-samples", message, node=data.loader, fix=fix, evidence=evidence)


def _single_batch(data: DataContext, size: int) -> Iterator[Problem]:
    """A shuffled batch of all samples: a batch size that was meant for more samples."""
    samples = data.training.samples
    keys = {node_type.key for _, node_type in data.with_role(Role.OPTIMIZER)}
    steps = _steps(data)
    if samples < MIN_FULL_BATCH or keys & FULL_BATCH_OPTIMIZERS or steps >= MIN_STEPS:
        return
    smaller = max(2 ** int(np.log2(samples / BATCHES)), 8)
    count = f"all {samples:,} samples" if size == samples else f"{size:,} samples but there are only {samples:,}"
    message = (
        f"A batch of {data.loader} holds {count}, so each epoch is a single step, and training ends after {steps}. "
        f"Set batch_size to {smaller} for {-(-samples // smaller)} steps per epoch."
    )
    fix = quick_fixes.assign(str(data.loader), "batch_size", smaller)
    evidence = {"batch_size": size, "samples": samples, "steps": steps}
    yield Problem("hint", "single-batch", message, node=data.loader, fix=fix, evidence=evidence)


def _steps(data: DataContext) -> int:
    """Number of training steps with one batch per epoch."""
    if data.flow is None:
        return MIN_STEPS
    training = data.flow.expansion.document.training
    return training.epochs if training.steps is None else min(training.epochs, training.steps)


__all__ = ["batch_problems"]
