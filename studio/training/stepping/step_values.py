"""Values of a recorded training step, within a memory limit."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from studio.document.model import Endpoint
from studio.training.probing.tensor_statistics import TensorStatistics, tensor_statistics

MEMORY_LIMIT = 512 * 2**20
"""Bytes of the values that a recording keeps by default."""


class StepValue:
    """A tensor of a recorded step. Its statistics are always known, its elements if they fit into the memory limit.

    Args:
        name: port, or path of a parameter
        end: the output that has this value or gradient; None for parameters
        tensor: a copy of the tensor; None if it is not kept
        statistics: computed on demand while the tensor is kept
    """

    def __init__(
        self, name: str, end: Endpoint | None, tensor: Any | None, statistics: TensorStatistics | None = None
    ) -> None:
        self.name = name
        self.end = end
        self.tensor = tensor
        self._statistics = statistics
        self.is_finite = is_finite(tensor) if statistics is None else not (statistics.nan or statistics.infinite)

    @cached_property
    def statistics(self) -> TensorStatistics:
        return self._statistics or tensor_statistics(self.tensor)

    @property
    def is_kept(self) -> bool:
        return self.tensor is not None

    def array(self) -> NDArray[Any] | None:
        """The elements; None if they are not kept."""
        if self.tensor is None:
            return None
        is_half = self.tensor.dtype.is_floating_point and self.tensor.dtype.itemsize < 4
        return np.asarray((self.tensor.float() if is_half else self.tensor).cpu().numpy())

    def renamed(self, name: str) -> StepValue:
        """The same value at another port."""
        value = StepValue.__new__(StepValue)
        value.__dict__.update(self.__dict__)
        value.name = name
        return value


class ValueStore:
    """Copies tensors until a memory limit is reached.

    Args:
        limit: bytes
    """

    def __init__(self, limit: int = MEMORY_LIMIT) -> None:
        self.limit = limit
        self.used = 0
        self.dropped = 0
        """Number of tensors whose elements are not kept."""

    def keep(self, name: str, end: Endpoint | None, tensor: Any) -> StepValue:
        """A value with a copy of the tensor, or with its statistics only."""
        size = tensor.numel() * tensor.dtype.itemsize
        if self.used + size > self.limit:
            self.dropped += 1
            return StepValue(name, end, None, tensor_statistics(tensor))
        self.used += size
        with engine.no_grad():
            return StepValue(name, end, tensor.detach().clone())

    @property
    def message(self) -> str:
        """What the limit has left out; empty if nothing."""
        if not self.dropped:
            return ""
        count = "1 tensor is" if self.dropped == 1 else f"{self.dropped:,} tensors are"
        return (
            f"The elements of {count} not kept, because all together exceed {self.limit / 2**20:,.0f} MB. "
            "Statistics are complete. Reduce the batch size to see all elements."
        )


def is_finite(tensor: Any) -> bool:
    """Whether a tensor has no NaN and no infinity."""
    return not tensor.dtype.is_floating_point or bool(engine.isfinite(tensor.detach()).all().item())


__all__ = ["MEMORY_LIMIT", "StepValue", "ValueStore", "is_finite"]
