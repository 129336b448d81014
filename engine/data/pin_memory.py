"""Copy batches to pinned (page-locked) memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.tensors import Tensor


def pin_batch(batch: Any) -> Any:
    """Pin the tensors of a nested batch. Other objects with a `pin_memory` method are pinned by calling it."""
    if isinstance(batch, Tensor):
        return batch.pin_memory() if batch.is_cpu else batch
    if hasattr(batch, "pin_memory"):
        return batch.pin_memory()
    if isinstance(batch, Mapping):
        return {key: pin_batch(value) for key, value in batch.items()}
    if isinstance(batch, tuple):
        values = [pin_batch(value) for value in batch]
        return type(batch)(*values) if getattr(type(batch), "_fields", None) else tuple(values)
    return [pin_batch(value) for value in batch] if isinstance(batch, list) else batch
