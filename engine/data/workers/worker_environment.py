"""The environment that worker processes start in: they import what this process would, never from the working folder.

Python starts them by `-c`, which puts the working folder first on `sys.path`: a `json.py` beside the data would run.
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
    """Processes that are started in it import from where this one does. Yields what `restore` takes in them."""
    with _LOCK:
        before = {name: os.environ.get(name) for name in _NAMES}
        set_environment({"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONSAFEPATH": "1"})
        try:
            yield before
        finally:
            set_environment(before)


def set_environment(variables: Mapping[str, str | None]) -> None:
    """Sets these variables of the environment, or takes away those that are None."""
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


__all__ = ["import_path_environment", "set_environment"]
