"""Environment variables for worker processes: they import from this process's `sys.path`, never the working folder.

Python starts them with `-c`, which puts the working folder first on `sys.path`: a `json.py` next to the data would run.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_NAMES = ("PYTHONPATH", "PYTHONSAFEPATH")
_LOCK = threading.RLock()


@contextmanager
def import_path_environment() -> Iterator[dict[str, str | None]]:
    """Context in which new processes import from this one's `sys.path`.

    Yields the previous variables, for `set_environment` in the new process.
    """
    with _LOCK:
        before = {name: os.environ.get(name) for name in _NAMES}
        set_environment({"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONSAFEPATH": "1"})
        try:
            yield before
        finally:
            set_environment(before)


def set_environment(variables: Mapping[str, str | None]) -> None:
    """Set environment variables; None deletes a variable."""
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


__all__ = ["import_path_environment", "set_environment"]
