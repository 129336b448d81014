"""Colors of runs in plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from studio.training.runs.run_history import Run


def assign_colors(runs: Iterable[Run], count: int) -> None:
    """Assign each shown run one of `count` colors and `count` variants, preferably the one of its number.

    A color chosen by the user is kept and avoided for other runs. Other runs get different colors while there are
    enough, and keep their color while shown.
    """
    shown: list[Run] = []
    for run in runs:
        if run.is_shown:
            shown.append(run)
        else:
            run.color = None
    chosen = {run: run.chosen_color % count for run in shown if run.chosen_color is not None}
    taken = Counter(chosen.values())
    free = [run for run in shown if run not in chosen]
    for run, color in chosen.items():
        run.color = color
    for run in free:
        run.color = None if run.color in taken else run.color
    taken.update(run.color for run in free if run.color is not None)
    for run in free:
        if run.color is None:
            preferred = (run.number - 1) % count
            run.color = min(
                (preferred, *range(count), preferred + count, *range(count, 2 * count)), key=lambda color: taken[color]
            )
            taken[run.color] += 1


__all__ = ["assign_colors"]
