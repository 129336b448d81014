"""Statistics of the tensor on a wire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studio.document.model import Endpoint
from studio.training.probing.node_probe import NodeProbe

BINS = 24
MAX_ELEMENTS = 24
"""Maximum number of elements of a tensor whose elements are kept."""


@dataclass(frozen=True, slots=True)
class TensorStatistics:
    """Statistics of a tensor. Those of values are of the finite ones, and 0 if there are none."""

    shape: tuple[int, ...]
    dtype: str
    count: int
    mean: float
    std: float
    low: float
    high: float
    zeros: float
    """Share of values that are 0."""
    nan: int
    infinite: int
    histogram: tuple[int, ...]
    """Counts in intervals of equal width from `low` to `high`, of floating-point values without zeros, which would hide
    the others after ReLU; empty if all values are equal."""
    elements: tuple[float, ...] = ()
    """All elements of a small tensor in row-major order, true as 1; empty for large ones."""


def tensor_statistics(tensor: Any) -> TensorStatistics:
    """The statistics of a tensor of numbers or truth values."""
    is_half = tensor.dtype.is_floating_point and tensor.dtype.itemsize < 4
    array: NDArray[Any] = np.asarray((tensor.detach().float() if is_half else tensor.detach()).cpu().numpy())
    return array_statistics(array, str(tensor.dtype.name))


def array_statistics(array: NDArray[Any], dtype: str) -> TensorStatistics:
    """The statistics of the elements of a tensor.

    Args:
        dtype: dtype of the tensor; arrays of half precision are float32
    """
    values = array.reshape(-1)
    if values.dtype == bool or values.dtype.kind not in "fiu":
        values = np.abs(values) if values.dtype.kind == "c" else values.astype(np.int64)
    elements = tuple(map(float, values)) if values.size <= MAX_ELEMENTS else ()
    nan, infinite = 0, 0
    zeros = int(values.size - np.count_nonzero(values))
    if values.dtype.kind == "f":
        finite = np.isfinite(values)
        nan = int(np.isnan(values).sum())
        infinite = int(values.size - finite.sum()) - nan
        values = values[finite] if nan or infinite else values
    shown = tuple(int(size) for size in array.shape), dtype, int(array.size)
    share = zeros / max(array.size, 1)
    if not values.size:
        return TensorStatistics(*shown, 0.0, 0.0, 0.0, 0.0, share, nan, infinite, (), elements)
    low, high = float(values.min()), float(values.max())
    counted = values[values != 0] if values.dtype.kind == "f" else values
    bins = np.histogram(counted, BINS, (low, high))[0] if low < high and np.isfinite(high - low) else ()
    mean, std = float(values.mean(dtype=np.float64)), float(values.std(dtype=np.float64))
    counts = tuple(int(each) for each in bins)
    return TensorStatistics(*shown, mean, std, low, high, share, nan, infinite, counts, elements)


def wire_statistics(probe: NodeProbe, end: Endpoint) -> Iterator[Mapping[Endpoint, TensorStatistics]]:
    """The statistics of the tensors at an output and before it, node by node. Raises ProbeError."""
    for name, outputs, _ in probe.run([end.node]):
        yield {Endpoint(name, port): tensor_statistics(value) for port, value in outputs.items()}


__all__ = ["BINS", "TensorStatistics", "array_statistics", "tensor_statistics", "wire_statistics"]
