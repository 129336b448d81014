"""Signal handling for Ctrl+C and SIGTERM: the first stops a command cleanly, the second ends it immediately."""

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
    """Signal handler that records the first signal."""

    def __init__(self, before_exit: Callable[[], object], *, is_raised: bool) -> None:
        self.code = 0
        """Exit code of the first signal received; 0 if there is none."""
        self._before_exit = before_exit
        self._is_raised = is_raised

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.code:
            self._before_exit()
            _exit_now(128 + number)
        self.code = 128 + number
        if self._is_raised:
            raise KeyboardInterrupt


@contextmanager
def raise_on_interrupt() -> Iterator[Interrupts]:
    """Raise KeyboardInterrupt on the first Ctrl+C; exit immediately on the second."""
    with _install_handlers((signal.SIGINT,), Interrupts(lambda: None, is_raised=True)) as interrupts:
        yield interrupts


@contextmanager
def record_interrupts(before_exit: Callable[[], object] = lambda: None) -> Iterator[Interrupts]:
    """Record the first Ctrl+C or SIGTERM in `code` without interrupting work; exit immediately on the second.

    Args:
        before_exit: called before the process exits on the second signal
    """
    with _install_handlers((signal.SIGINT, signal.SIGTERM), Interrupts(before_exit, is_raised=False)) as interrupts:
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
        if handler is not signal.SIG_IGN:  # shells and nohup ignore it for background jobs
            signal.signal(number, interrupts)
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _exit_now(code: int) -> None:
    """Exit without waiting for threads or cleanup."""
    try:
        if os.isatty(_STANDARD_ERROR):
            os.write(_STANDARD_ERROR, _SHOW_CURSOR)  # progress bars hide the cursor
    finally:
        os._exit(code)


__all__ = ["Interrupts", "exit_on_interrupt", "raise_on_interrupt", "record_interrupts"]
