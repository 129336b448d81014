"""What the engine warns of while somebody trains, told to them instead of to standard error."""

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
"""Who shows warnings that are not for us."""
_ALWAYS = ("always", None, DataWarning, None, 0)
"""A filter: Python by itself tells a text once in a process, but the next training has to hear it, too."""


@contextmanager
def capture_warnings(tell: WarningHandler) -> Iterator[None]:
    """Within it a UserWarning comes to `tell`, each text once.

    Warnings know no training: of several that run at the same time each hears those of all.
    """
    known: set[str] = set()

    def tell_once(text: str) -> None:
        if text not in known:
            known.add(text)
            tell(text)

    with _LOCK:
        if not _HANDLERS:
            _PREVIOUS[:] = [warnings.showwarning]
            warnings.showwarning = _show
        if _ALWAYS not in warnings.filters:
            warnings.simplefilter("always", DataWarning)
        _HANDLERS.append(tell_once)
    try:
        yield
    finally:
        with _LOCK:
            _HANDLERS.remove(tell_once)
            if not _HANDLERS and warnings.showwarning is _show:
                warnings.showwarning = _PREVIOUS[0]


def _show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    hearers = tuple(_HANDLERS)
    if not hearers or not issubclass(category, UserWarning):
        _PREVIOUS[0](message, category, *where, **more)
    for tell in hearers if issubclass(category, UserWarning) else ():
        tell(translate_error(message) if isinstance(message, Warning) else message)


__all__ = ["capture_warnings"]
