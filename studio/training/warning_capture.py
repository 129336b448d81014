"""Capture the engine's warnings during training instead of printing them on standard error."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from engine.errors import DataWarning
from studio.lowering.error_translation import translate_error

WarningHandler = Callable[[str], None]

_LOCK = threading.Lock()
_HANDLERS: list[WarningHandler] = []
_PREVIOUS: list[Callable[..., Any]] = []
"""The original warnings.showwarning."""
_ALWAYS = ("always", None, DataWarning, None, 0)
"""Warning filter: by default Python shows a text once per process, but each run needs it."""


@contextmanager
def capture_warnings(handler: WarningHandler) -> Iterator[None]:
    """Pass the text of each UserWarning to `handler`, once per text.

    Warnings are global: with several concurrent runs, each handler receives the warnings of all.
    """
    handled: set[str] = set()

    def handle_once(text: str) -> None:
        if text not in handled:
            handled.add(text)
            handler(text)

    with _LOCK:
        if not _HANDLERS:
            _PREVIOUS[:] = [warnings.showwarning]
            warnings.showwarning = _show
        if _ALWAYS not in warnings.filters:
            warnings.simplefilter("always", DataWarning)
        _HANDLERS.append(handle_once)
    try:
        yield
    finally:
        with _LOCK:
            _HANDLERS.remove(handle_once)
            if not _HANDLERS and warnings.showwarning is _show:
                warnings.showwarning = _PREVIOUS[0]


def _show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    handlers = tuple(_HANDLERS)
    if not handlers or not issubclass(category, UserWarning):
        _PREVIOUS[0](message, category, *where, **more)
    for handler in handlers if issubclass(category, UserWarning) else ():
        handler(translate_error(message) if isinstance(message, Warning) else message)


__all__ = ["capture_warnings"]
