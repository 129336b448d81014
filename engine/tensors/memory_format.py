"""PyTorch's memory formats and layouts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class memory_format:
    """Memory format: the order of the dimensions in memory; empty for the contiguous format."""

    name: str
    order: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return f"engine.{self.name}"


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", (0, 2, 3, 1))
channels_last_3d = memory_format("channels_last_3d", (0, 2, 3, 4, 1))


@dataclass(frozen=True, slots=True)
class layout:
    """The layout of a tensor's memory."""

    name: str

    def __repr__(self) -> str:
        return f"engine.{self.name}"


strided = layout("strided")
"""The only layout: dense with strides."""
