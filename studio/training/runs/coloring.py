"""Which colour the curves of a run have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from studio.training.runs.history import Run


def give_colors(runs: Iterable[Run], count: int) -> None:
    """A colour for each run that is shown, of `count` and as many variants of these: that of its number, if it is free.

    No two are alike as long as there are so many. A run keeps its colour while it is shown.
    """
    runs = list(runs)
    for run in runs:
        run.color = run.color if run.is_shown else None
    taken = Counter(run.color for run in runs if run.color is not None)
    for run in runs:
        if run.is_shown and run.color is None:
            own = (run.number - 1) % count
            run.color = min((own, *range(count), own + count, *range(count, 2 * count)), key=lambda one: taken[one])
            taken[run.color] += 1


__all__ = ["give_colors"]
