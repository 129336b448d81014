"""What was read of a file, kept for the next who asks: the canvas asks again with every change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

from engine.data.file_access import ReadErrorContext

T = TypeVar("T")


class LRUCache(Generic[T]):
    """The last few things that were read, by key.

    Args:
        most: how many are kept
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, read: Callable[[], T]) -> T:
        """What was read last for a key, in whatever thread, or what `read` gives; others who ask wait for it."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = read()
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]

    def clear(self) -> None:
        """Keep nothing."""
        self._kept.clear()


def file_fingerprint(path: Path) -> tuple[str, int, int]:
    """What is another when a file was written anew. Raises DataError if it cannot be looked at."""
    with ReadErrorContext(path):
        status = path.stat()
    return str(path.absolute()), status.st_size, status.st_mtime_ns
