"""The table of a sweep's trials, best first."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from studio.cli.error_output import escape_control
from studio.cli.sweep.search_space import TrialValues, format_values

_STYLES = {"done": "green", "running": "cyan", "failed": "red", "stopped": "yellow", "waiting": "dim"}
_OTHER_LINES = 6
"""Terminal lines that are not used for rows."""


@dataclass
class TrialRow:
    """One trial and its current state."""

    number: int
    values: TrialValues
    state: str = "waiting"
    metrics: dict[str, Any] = field(default_factory=dict)
    """Metrics of the best validation so far."""
    epochs: str = ""
    """Total number of epochs, as "/10"; empty if unlimited."""
    batches: int | None = None
    """Batches per epoch, if known."""
    progress: str = "starting"
    message: str = ""


class TrialTable:
    """Show trials live on standard error if it is a terminal, and print the final table on standard output.

    Args:
        rows: trials by number
        metric: the metric that ranks trials
        higher_is_better: whether higher values rank first
        quiet: print only errors and the final table
    """

    def __init__(self, rows: Mapping[int, TrialRow], metric: str, *, higher_is_better: bool, quiet: bool) -> None:
        self._rows = rows
        self._metric = metric
        self._sign = -1 if higher_is_better else 1
        self._quiet = quiet
        self._console = Console(file=sys.stderr, highlight=False)
        shown = self._console.is_terminal and not quiet
        self._live = Live(console=self._console, transient=True, auto_refresh=False) if shown else None

    def __enter__(self) -> TrialTable:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def print_message(self, text: str, *, always: bool = False) -> None:
        """Print a line above the table; when quiet, only if `always` is set."""
        if always or not self._quiet:
            self._console.print(escape_control(text), markup=False, soft_wrap=True)

    def refresh(self) -> None:
        if self._live is not None:
            shown = Group(self._table(max(self._console.height - _OTHER_LINES, 3)), Text(self._caption(), style="dim"))
            self._live.update(shown, refresh=True)

    def print_end(self, row: TrialRow) -> None:
        """Print the result of a trial: failures always, others only without a live table."""
        if row.state == "failed":
            self.print_message(
                f"error: trial {row.number} failed: {format_values(row.values)}: {row.message}", always=True
            )
        elif self._live is None:
            self.print_message(
                f"trial {row.number} {row.state}: {format_values(row.values)}  {_format_metrics(row.metrics)}"
            )

    def print(self) -> None:
        """Print the table of all trials on standard output."""
        console = Console(file=sys.stdout, highlight=False)
        if not console.is_terminal:
            console.width = 1000  # a file or pipe has no width
        console.print(self._table(None))
        console.print(self._caption(), style="dim", markup=False, soft_wrap=True)

    def best(self) -> TrialRow | None:
        """The trial with the best metric; None if no trial has one."""
        first = min(self._rows.values(), key=self._rank, default=None)
        return first if first is not None and self._metric in first.metrics else None

    def _rank(self, row: TrialRow) -> tuple[Any, ...]:
        value = row.metrics.get(self._metric)
        if value is None:
            states = ("running", "waiting", "stopped", "failed", "done")
            return 1, states.index(row.state), row.number
        return 0, self._sign * value if math.isfinite(value) else math.inf, row.number

    def _table(self, limit: int | None) -> Table:
        ranked = sorted(self._rows.values(), key=self._rank)
        keys = list(dict.fromkeys(key for row in ranked for key in row.values))
        others = dict.fromkeys(name for row in ranked for name in row.metrics if name.startswith("val_"))
        names = [self._metric, *(name for name in others if name != self._metric)]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("trial", justify="right")
        for title in (*keys, *names):
            table.add_column(title, justify="right", overflow="fold")
        table.add_column("at epoch", justify="right")
        table.add_column("")
        for row in ranked[:limit]:
            values = [Text(escape_control(row.values.get(key, ""))) for key in keys]  # a str would be parsed as markup
            figures = [_format_value(row.metrics.get(name)) for name in names]
            state = Text(row.progress if row.state == "running" else row.state, style=_STYLES[row.state])
            table.add_row(str(row.number), *values, *figures, str(row.metrics.get("epoch", "")), state)
        if limit is not None and len(ranked) > limit:
            table.add_row("…", *[""] * (len(keys) + len(names) + 2))
        return table

    def _caption(self) -> str:
        states = [row.state for row in self._rows.values()]
        counted = [f"{states.count('done')} of {len(states)} done"]
        counted += [f"{states.count(state)} {state}" for state in ("running", "failed", "stopped") if state in states]
        return f"{', '.join(counted)}; ordered by {self._metric}"


def _format_metrics(metrics: Mapping[str, Any]) -> str:
    shown = (f"{name} {_format_value(value)}" for name, value in metrics.items() if name.startswith("val_"))
    return " ".join(shown)


def _format_value(value: Any) -> str:
    return "" if value is None else f"{value:.4g}"


__all__ = ["TrialRow", "TrialTable"]
