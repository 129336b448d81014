"""Ctrl+C and SIGTERM: the first one ends a command in order, a further one at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SHOW_CURSOR = b"\x1b[?25h\n"
_STANDARD_ERROR = 2


class Interrupts:
    """The signals that came."""

    def __init__(self, at_once: Callable[[], object], *, is_raised: bool) -> None:
        self.code = 0
        """The exit code of a command that a signal has ended; 0 before."""
        self._at_once = at_once
        self._is_raised = is_raised

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.code:
            self._at_once()
            _exit_now(128 + number)
        self.code = 128 + number
        if self._is_raised:
            raise KeyboardInterrupt


@contextmanager
def raise_on_interrupt() -> Iterator[Interrupts]:
    """The first Ctrl+C raises KeyboardInterrupt, the second one ends the process."""
    with _install_handlers((signal.SIGINT,), Interrupts(lambda: None, is_raised=True)) as interrupts:
        yield interrupts


@contextmanager
def record_interrupts(at_once: Callable[[], object] = lambda: None) -> Iterator[Interrupts]:
    """The first Ctrl+C or SIGTERM is only kept, so that it cannot break off work in the middle; look at `code`.

    Args:
        at_once: called before the second one ends the process
    """
    with _install_handlers((signal.SIGINT, signal.SIGTERM), Interrupts(at_once, is_raised=False)) as interrupts:
        yield interrupts


@contextmanager
def exit_on_interrupt() -> Iterator[None]:
    """Ctrl+C ends the process at once: for imports, where C code prints a traceback of KeyboardInterrupt."""
    interrupts = Interrupts(lambda: None, is_raised=False)
    interrupts.code = 128 + signal.SIGINT  # as if one had come: the next one ends the process
    with _install_handlers((signal.SIGINT,), interrupts):
        yield


@contextmanager
def _install_handlers(numbers: tuple[signal.Signals, ...], interrupts: Interrupts) -> Iterator[Interrupts]:
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as shells and nohup do for what runs in the background
            signal.signal(number, interrupts)
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _exit_now(code: int) -> None:
    """End the process without waiting for anything."""
    try:
        if os.isatty(_STANDARD_ERROR):
            os.write(_STANDARD_ERROR, _SHOW_CURSOR)  # progress bars hide it
    finally:
        os._exit(code)


__all__ = ["Interrupts", "exit_on_interrupt", "raise_on_interrupt", "record_interrupts"]
