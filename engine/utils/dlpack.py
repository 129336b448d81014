"""Tensors from and to other array libraries without a copy, by the DLPack protocol."""

from __future__ import annotations

from typing import Any

from engine.tensors import Tensor
from engine.tensors.creation import from_dlpack


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the tensor's memory, to be taken once. Libraries that know the protocol take the tensor."""
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
