"""A thread-safe LRU cache for data read from files. The canvas checks the data after every edit."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

from engine.data.file_access import ReadErrorContext

T = TypeVar("T")


class LRUCache(Generic[T]):
    """The most recently used values by key.

    Args:
        maxsize: maximum number of values
    """

    def __init__(self, maxsize: int) -> None:
        self._maxsize = maxsize
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, read: Callable[[], T]) -> T:
        """The cached value of a key, or the result of `read`, which is then cached. Other threads wait."""
        with self._lock:
            if key not in self._values:
                self._values[key] = read()
                while len(self._values) > self._maxsize:
                    self._values.popitem(last=False)
            self._values.move_to_end(key)
            return self._values[key]

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def clear(self) -> None:
        """Remove all values."""
        self._values.clear()


def file_fingerprint(path: Path) -> tuple[str, int, int]:
    """Path, size and modification time, which change when a file is rewritten. Raises DataError on read errors."""
    with ReadErrorContext(path):
        status = path.stat()
    return str(path.absolute()), status.st_size, status.st_mtime_ns
