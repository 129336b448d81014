"""Tables and trace files of recorded events."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.profiler.recorder import ProfilerEvent

COLUMNS = ("self_cpu_time_total", "cpu_time_total", "cpu_time", "count")


@dataclass(slots=True)
class Average:
    """All events with the same name. Times are in microseconds."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    """Time excluding nested events."""

    @property
    def cpu_time(self) -> float:
        """Mean time of an event."""
        return self.cpu_time_total / self.count


class EventList(list[Average]):
    """Group events by name, in the order of first occurrence."""

    @property
    def self_cpu_time_total(self) -> float:
        """Return the microseconds in kernels and named ranges."""
        return sum(row.self_cpu_time_total for row in self)

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int | None = 55) -> str:
        """Return the rows as a text table.

        Args:
            sort_by: column, largest first: "cpu_time_total", "self_cpu_time_total", "cpu_time" or "count"
            row_limit: maximum number of rows; -1: all
            max_name_column_width: longer names are truncated; None: no limit
        """
        if sort_by is not None and sort_by not in COLUMNS:
            raise ValueError(f"table(): rows are sorted by {', '.join(COLUMNS)}, not by {sort_by!r}")
        rows = list(self) if sort_by is None else sorted(self, key=lambda row: getattr(row, sort_by), reverse=True)
        rows = rows if row_limit < 0 else rows[:row_limit]
        names = [row.key if max_name_column_width is None else row.key[:max_name_column_width] for row in rows]
        width = max(map(len, ("Name", *names)))
        total = self.self_cpu_time_total or 1.0
        times = "  ".join(f"{title:>12}" for title in ("Self CPU", "CPU total", "CPU mean"))
        lines = [f"{'Name':<{width}}  {'Self CPU %':>10}  {times}  {'Calls':>8}"]
        for name, row in zip(names, rows, strict=True):
            times = "  ".join(
                f"{time:>9.3f} us" for time in (row.self_cpu_time_total, row.cpu_time_total, row.cpu_time)
            )
            lines.append(f"{name:<{width}}  {row.self_cpu_time_total / total:>10.2%}  {times}  {row.count:>8}")
        return "\n".join([*lines, f"Self CPU time total: {self.self_cpu_time_total / 1000:.3f} ms"])


def averages(events: Iterable[ProfilerEvent]) -> EventList:
    """Rows of a table, one per name."""
    rows: dict[str, Average] = {}
    for event in events:
        row = rows.setdefault(event.name, Average(event.name))
        row.count += 1
        row.cpu_time_total += event.duration / 1000
        row.self_cpu_time_total += (event.duration - event.within) / 1000
    return EventList(rows.values())


def write_chrome_trace(events: Iterable[ProfilerEvent], path: str | os.PathLike[str]) -> None:
    """Write a trace for chrome://tracing or ui.perfetto.dev."""
    trace_events = [
        {
            "name": event.name,
            "cat": "user_annotation" if event.is_range else "cpu_op",
            "ph": "X",
            "ts": event.start / 1000,
            "dur": event.duration / 1000,
            "pid": os.getpid(),
            "tid": 1,
        }
        for event in events
    ]
    Path(path).write_text(json.dumps({"traceEvents": trace_events, "displayTimeUnit": "ms"}), encoding="utf-8")
