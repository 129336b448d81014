"""DataLoader workers: processes or threads that make batches in advance."""

from __future__ import annotations

from engine.data.workers.worker_info import WorkerInfo as WorkerInfo
from engine.data.workers.worker_info import get_worker_info as get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]
