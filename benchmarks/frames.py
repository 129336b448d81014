"""Measures frame times of the window, including painting."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from PySide6.QtWidgets import QApplication


def frames(title: str, count: int, step: Callable[[int], object]) -> None:
    """Print the median and the worst of `count` steps in milliseconds; 60 frames per second are 16.7."""
    times: list[float] = []
    for index in range(count):
        begin = time.perf_counter()
        step(index)
        QApplication.processEvents()
        times.append((time.perf_counter() - begin) * 1000)
    print(f"{title:<44} median {statistics.median(times):7.1f}   worst {max(times):7.1f}")
