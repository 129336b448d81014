"""What a worker knows of itself."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any


@dataclass
class WorkerInfo:
    """Which worker this is, of how many; the seed of its random numbers; its copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class _Here(threading.local):
    info: WorkerInfo | None = None


HERE = _Here()


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a DataLoader, what it knows of itself; elsewhere None."""
    return HERE.info
