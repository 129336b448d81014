"""Anomaly mode: finds the forward op whose backward pass fails or produces NaN."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from engine.modes import MODES
from engine.observe import Relay


class set_detect_anomaly:
    """Turn anomaly mode on or off, as a function call or a context manager.

    Every op records the source line of its call. A backward pass that raises, or computes NaN, reports the op and that
    line. Slow; use it only for debugging.

    Args:
        mode: whether anomaly mode is on
        check_nan: raise AutogradError when a gradient contains NaN
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._outer = (MODES.check_nan, MODES.observer)
        MODES.observer = _without_anomaly(MODES.observer)
        MODES.check_nan = None
        if mode:
            MODES.observer = _LineRecorder(MODES.observer)
            MODES.check_nan = check_nan

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        MODES.check_nan, MODES.observer = self._outer


class detect_anomaly:
    """Context manager: errors and NaN in a backward pass report the forward op and its source line.

    Args:
        check_nan: raise AutogradError when a gradient contains NaN
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        self._entered: list[set_detect_anomaly] = []

    def __enter__(self) -> None:
        self._entered.append(set_detect_anomaly(True, self._check_nan))

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        self._entered.pop().__exit__(kind, error, trace)


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Turn anomaly mode on or off."""
    set_detect_anomaly(mode, check_nan)


def is_anomaly_enabled() -> bool:
    return MODES.check_nan is not None


def is_anomaly_check_nan_enabled() -> bool:
    return bool(MODES.check_nan)


class _LineRecorder(Relay):
    """Records the source line of every op."""


def _without_anomaly(observer: Any) -> Any:
    return observer.outer if isinstance(observer, _LineRecorder) else observer
