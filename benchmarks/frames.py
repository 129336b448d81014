"""Measures frame times of the window, including painting."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QApplication


def frames(
    title: str, count: int, step: Callable[[int], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    """Print the median, the 95th percentile and the worst of `count` steps in milliseconds. Returns the median."""
    times: list[float] = []
    for index in range(count):
        begin = clock()
        step(index)
        QApplication.processEvents()
        times.append((clock() - begin) * 1000)
    print_times(title, times)
    return statistics.median(times)


def print_times(title: str, times: Sequence[float]) -> None:
    """Print the median, the 95th percentile and the worst of `times` in milliseconds."""
    p95 = statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
    p95 = min(p95, max(times))
    print(f"{title:<46} median {statistics.median(times):7.1f}   p95 {p95:7.1f}   worst {max(times):7.1f}", flush=True)
