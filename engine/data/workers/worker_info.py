"""Information about the current DataLoader worker."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any


@dataclass
class WorkerInfo:
    """Index of the worker, number of workers, random seed, and the worker's copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class _ThreadState(threading.local):
    info: WorkerInfo | None = None


THREAD_STATE = _ThreadState()


def get_worker_info() -> WorkerInfo | None:
    """Information about the current DataLoader worker; None outside of workers."""
    return THREAD_STATE.info
