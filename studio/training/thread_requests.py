"""Functions that other threads ask the training thread to call between two steps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

T = TypeVar("T")


class ThreadRequests:
    """Waiting calls. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[tuple[Callable[[], Any], Future[Any]]] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, compute: Callable[[], T]) -> Future[T]:
        """Ask for a call."""
        future: Future[T] = Future()
        with self._lock:
            self._waiting.append((compute, future))
        return future

    def answer(self) -> None:
        """Call the functions. An exception is raised where the call was asked for."""
        for compute, future in self._take():
            try:
                future.set_result(compute())
            except Exception as error:  # noqa: BLE001 - must not end the run
                future.set_exception(error)

    def cancel(self) -> None:
        """End all waiting without calls."""
        for _, future in self._take():
            future.cancel()

    def _take(self) -> list[tuple[Callable[[], Any], Future[Any]]]:
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken


def result_of(future: Future[T], compute: Callable[[], T], timeout: float) -> T | None:
    """Wait for a call; make it here if it was cancelled. None after `timeout` seconds."""
    try:
        return future.result(timeout)
    except CancelledError:  # the run ended first
        return compute()
    except TimeoutError:
        return None


__all__ = ["ThreadRequests", "result_of"]
