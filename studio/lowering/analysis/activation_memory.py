"""Memory of outputs, from their shapes."""

from __future__ import annotations

from collections.abc import Iterable

from engine.shape import Dim, Spec, count


def batch_bytes(value: Spec, batch: int = 1) -> int:
    """Size of a tensor in bytes for a batch of this size."""
    return count(size.at(batch) if isinstance(size, Dim) else size for size in value.shape) * value.dtype.itemsize


def outputs_bytes(values: Iterable[object]) -> int:
    """Size of the tensors among these outputs in bytes, for one sample."""
    return sum(batch_bytes(value) for value in values if isinstance(value, Spec))
