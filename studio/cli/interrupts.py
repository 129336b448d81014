"""SIGTERM, which ends a command as Ctrl+C does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(BaseException):
    """SIGTERM came."""


@contextmanager
def terminations() -> Iterator[None]:
    """Lets SIGTERM interrupt the main thread as Ctrl+C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number: int, frame: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


__all__ = ["Terminated", "terminations"]
