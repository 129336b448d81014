"""Measured times of the steps of a plan, in runs of the real plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter_ns
from typing import Any

from engine.compiler.plan.plan_source import PlanPart


@dataclass(frozen=True, slots=True)
class TimedRun:
    """One run of a plan. Times are those of `time.perf_counter_ns`."""

    parts: tuple[PlanPart, ...]
    """What each interval did; the first part only starts the run."""
    ends: tuple[int, ...]
    """End of each part. A part begins at the end of the previous one."""

    @property
    def start(self) -> int:
        return self.ends[0]

    @property
    def end(self) -> int:
        return self.ends[-1]

    def intervals(self) -> Iterator[tuple[PlanPart, int, int]]:
        """Each part with its start and its end."""
        yield from zip(self.parts[1:], self.ends[:-1], self.ends[1:], strict=True)


class PlanTiming:
    """The times of a plan's runs while it is timed.

    A time is noted by C functions alone, so that a timed plan can be interrupted at the same points as others.

    Args:
        synchronize: waits for a GPU; without it the CPU computes
    """

    def __init__(self, synchronize: Callable[[], None] | None = None) -> None:
        self._entries: list[Any] = []
        """For each run a tuple of parts, then a time for each of them."""
        clock = perf_counter_ns if synchronize is None else partial(_synchronized_time, synchronize)
        self.stamp: Callable[[], Any] = partial(next, map(self._entries.append, iter(clock, None)))
        """Notes the time."""

    def begin_run(self, parts: Sequence[PlanPart]) -> Callable[[], None]:
        """A function that notes the start of a run with these parts."""
        return partial(self._entries.append, tuple(parts))

    def take(self) -> list[TimedRun]:
        """The complete runs since the last call."""
        entries = self._entries.copy()
        del self._entries[: len(entries)]
        starts = [index for index, entry in enumerate(entries) if type(entry) is tuple]
        found = [entries[a:b] for a, b in zip(starts, [*starts[1:], len(entries)], strict=True)]
        return [TimedRun(run[0], tuple(run[1:])) for run in found if len(run) == len(run[0]) + 1]


def _synchronized_time(synchronize: Callable[[], None]) -> int:
    synchronize()
    return perf_counter_ns()


__all__ = ["PlanTiming", "TimedRun"]
