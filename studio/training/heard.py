"""What the engine warns of while somebody trains, told to them instead of to standard error."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from engine.errors import DataWarning
from studio.lowering.error_translation import told

Tell = Callable[[str], None]

_LOCK = threading.Lock()
_HEARERS: list[Tell] = []
_ELSE: list[Callable[..., Any]] = []
"""Who shows warnings that are not for us."""
_EACH_TIME = ("always", None, DataWarning, None, 0)
"""A filter: Python by itself tells a text once in a process, but the next training has to hear it, too."""


@contextmanager
def heard(tell: Tell) -> Iterator[None]:
    """Within it a UserWarning comes to `tell`, each text once.

    Warnings know no training: of several that run at the same time each hears those of all.
    """
    known: set[str] = set()

    def tell_once(text: str) -> None:
        if text not in known:
            known.add(text)
            tell(text)

    with _LOCK:
        if not _HEARERS:
            _ELSE[:] = [warnings.showwarning]
            warnings.showwarning = _show
        if _EACH_TIME not in warnings.filters:
            warnings.simplefilter("always", DataWarning)
        _HEARERS.append(tell_once)
    try:
        yield
    finally:
        with _LOCK:
            _HEARERS.remove(tell_once)
            if not _HEARERS and warnings.showwarning is _show:
                warnings.showwarning = _ELSE[0]


def _show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    hearers = tuple(_HEARERS)
    if not hearers or not issubclass(category, UserWarning):
        _ELSE[0](message, category, *where, **more)
    for tell in hearers if issubclass(category, UserWarning) else ():
        tell(told(message) if isinstance(message, Warning) else message)


__all__ = ["heard"]
