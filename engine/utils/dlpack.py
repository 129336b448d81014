"""Zero-copy exchange of tensors with other array libraries through the DLPack protocol."""

from __future__ import annotations

from typing import Any

from engine.tensors import Tensor
from engine.tensors.creation import from_dlpack


def to_dlpack(tensor: Tensor) -> Any:
    """Return a DLPack capsule of the tensor, which can be consumed once. Most libraries accept the tensor itself."""
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
