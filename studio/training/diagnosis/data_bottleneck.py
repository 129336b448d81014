"""Detection of data-loading bottlenecks."""

from __future__ import annotations

import os

from studio.document.model import Document
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import Role
from studio.training.run_progress import RunProgress

SHARE = 0.25
"""Fraction of the step time spent waiting, from which a warning appears."""
MIN_SECONDS = 0.002
"""Shorter waits per batch are ignored."""
MIN_TOTAL = 1.0
"""Seconds that a run must have waited in total: other work on the machine can delay some batches."""
MIN_STEPS = 50
"""Steps before the measurement is reliable."""


def find_data_bottleneck(document: Document, catalogue: Catalogue, progress: RunProgress) -> Problem | None:
    """Return a warning at the loader with the measured times if training waits for data; else None."""
    share, seconds = progress.waiting_fraction, progress.seconds_per_batch
    if share is None or seconds is None or progress.step < MIN_STEPS or share < SHARE or share * seconds < MIN_SECONDS:
        return None
    loader = _loader(document, catalogue)
    if loader is None:
        return None
    measured = f"Waiting for data takes {share:.0%} of each step ({_ms(share * seconds)} of {_ms(seconds)})."
    set_by_hand = document.nodes[loader].params.get("workers", 0)
    workers = set_by_hand if isinstance(set_by_hand, int) else 0
    more = min(max(2 * workers, 2), os.cpu_count() or 1)
    if more <= workers:
        message = f"{measured} The {workers} workers of {loader} are too slow. Remove expensive transforms."
        return Problem("warning", "slow-data", message, node=loader)
    message = f"{measured} Raise workers of {loader} to {more} for the next run."
    return Problem("warning", "slow-data", message, node=loader, fix=quick_fixes.assign(loader, "workers", more))


def _loader(document: Document, catalogue: Catalogue) -> str | None:
    kinds = ((name, catalogue.get(node.type)) for name, node in document.nodes.items() if not node.muted)
    return next((name for name, kind in kinds if kind is not None and kind.role is Role.LOADER), None)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.2g} ms" if seconds < 0.1 else f"{1000 * seconds:.0f} ms"


__all__ = ["find_data_bottleneck"]
