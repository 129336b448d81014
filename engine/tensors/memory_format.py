"""How a tensor's elements lie in memory, by PyTorch's names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class memory_format:
    """The order of the dimensions in memory; empty where they lie as they are written."""

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
    """The kind of a tensor's memory."""

    name: str

    def __repr__(self) -> str:
        return f"engine.{self.name}"


strided = layout("strided")
"""The only layout here: elements at regular steps."""
