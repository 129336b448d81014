"""What people see of a sweep: a table of its trials, the best first."""

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
_AROUND = 6
"""Lines of the terminal that are not rows."""


@dataclass
class TrialRow:
    """A trial, as far as it is known."""

    number: int
    values: TrialValues
    state: str = "waiting"
    figures: dict[str, Any] = field(default_factory=dict)
    """Of its best validation so far, by the figure that is followed."""
    epochs: str = ""
    """How many there are to be, after a slash."""
    batches: int | None = None
    """Of an epoch."""
    progress: str = "begins"
    message: str = ""


class TrialTable:
    """Shows trials on standard error while they go on, where that is a terminal; at the end on standard output.

    Args:
        rows: the trials, by number
        follow: the figure that decides which is the best
        rises: whether a higher one is better
        quiet: show errors, and the table at the end, alone
    """

    def __init__(self, rows: Mapping[int, TrialRow], follow: str, *, rises: bool, quiet: bool) -> None:
        self._rows = rows
        self._follow = follow
        self._sign = -1 if rises else 1
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

    def say(self, text: str, *, always: bool = False) -> None:
        """A line above the table; not when quiet, unless `always`."""
        if always or not self._quiet:
            self._console.print(escape_control(text), markup=False, soft_wrap=True)

    def refresh(self) -> None:
        if self._live is not None:
            shown = Group(self._table(max(self._console.height - _AROUND, 3)), Text(self._caption(), style="dim"))
            self._live.update(shown, refresh=True)

    def tell_end(self, row: TrialRow) -> None:
        """Where no table can be watched, a line for each trial."""
        if row.state == "failed":
            self.say(f"gradwire: trial {row.number} failed: {format_values(row.values)}: {row.message}", always=True)
        elif self._live is None:
            self.say(f"trial {row.number} {row.state}: {format_values(row.values)}  {_format_metrics(row.figures)}")

    def print(self) -> None:
        """The table of all trials, on standard output."""
        console = Console(file=sys.stdout, highlight=False)
        if not console.is_terminal:
            console.width = 1000  # whoever reads it is no window
        console.print(self._table(None))
        console.print(self._caption(), style="dim", markup=False, soft_wrap=True)

    def best(self) -> TrialRow | None:
        """The trial with the best figure, if there is one."""
        first = min(self._rows.values(), key=self._rank, default=None)
        return first if first is not None and self._follow in first.figures else None

    def _rank(self, row: TrialRow) -> tuple[Any, ...]:
        value = row.figures.get(self._follow)
        if value is None:
            states = ("running", "waiting", "stopped", "failed", "done")
            return 1, states.index(row.state), row.number
        return 0, self._sign * value if math.isfinite(value) else math.inf, row.number

    def _table(self, limit: int | None) -> Table:
        ranked = sorted(self._rows.values(), key=self._rank)
        places = list(dict.fromkeys(place for row in ranked for place in row.values))
        others = dict.fromkeys(name for row in ranked for name in row.figures if name.startswith("val_"))
        names = [self._follow, *(name for name in others if name != self._follow)]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("trial", justify="right")
        for title in (*places, *names):
            table.add_column(title, justify="right", overflow="fold")
        table.add_column("at epoch", justify="right")
        table.add_column("")
        for row in ranked[:limit]:
            values = [
                Text(escape_control(row.values.get(place, ""))) for place in places
            ]  # a plain str would be markup
            figures = [_format_value(row.figures.get(name)) for name in names]
            state = Text(row.progress if row.state == "running" else row.state, style=_STYLES[row.state])
            table.add_row(str(row.number), *values, *figures, str(row.figures.get("epoch", "")), state)
        if limit is not None and len(ranked) > limit:
            table.add_row("…", *[""] * (len(places) + len(names) + 2))
        return table

    def _caption(self) -> str:
        states = [row.state for row in self._rows.values()]
        counted = [f"{states.count('done')} of {len(states)} done"]
        counted += [f"{states.count(state)} {state}" for state in ("running", "failed", "stopped") if state in states]
        return f"{', '.join(counted)}; best first, by {self._follow}"


def _format_metrics(figures: Mapping[str, Any]) -> str:
    shown = (f"{name} {_format_value(value)}" for name, value in figures.items() if name.startswith("val_"))
    return " ".join(shown)


def _format_value(value: Any) -> str:
    return "" if value is None else f"{value:.4g}"


__all__ = ["TrialRow", "TrialTable"]
