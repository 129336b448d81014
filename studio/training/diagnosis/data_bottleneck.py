"""Detection of data-loading bottlenecks."""

from __future__ import annotations

import os

from studio.document.model import Document
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import Role
from studio.training.diagnosis.step_times import StepTimes

SHARE = 0.25
"""Fraction of the step time spent waiting, from which a warning appears."""
MIN_SECONDS = 0.002
"""Shorter waits per batch are ignored."""
MIN_TOTAL, _SMALL_SHARE_FACTOR = 2.0, 2
"""Seconds that a run must have waited in total, and how many times as many if that is less than half of the time."""
_LONG_WAIT, _MIN_TOTAL_OF_LONG_WAITS = 0.01, 0.5
"""Seconds per batch from which a wait that is about the same in all steps is no accident of a machine under load, and
how many a run must have waited in total then."""
MIN_STEPS = 20
"""Steps before the measurement is reliable."""


def find_slow_data(times: StepTimes, document: Document, catalogue: Catalogue) -> Problem | None:
    """A warning at the loader with the measured times if training waits for data; else None."""
    if times.count < MIN_STEPS:
        return None
    waiting, seconds = times.waiting, times.seconds
    share = waiting / seconds if seconds > 0 else 0.0
    is_long = share >= 0.5 and times.least_waiting >= max(_LONG_WAIT, waiting / 2)
    total = _MIN_TOTAL_OF_LONG_WAITS if is_long else MIN_TOTAL if share >= 0.5 else _SMALL_SHARE_FACTOR * MIN_TOTAL
    if share < SHARE or waiting < MIN_SECONDS or waiting * times.count < total:
        return None
    return _problem(document, catalogue, share, seconds)


def _problem(document: Document, catalogue: Catalogue, share: float, seconds: float) -> Problem | None:
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


__all__ = ["find_slow_data"]
