"""torch.types: type aliases for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from engine.backend import Device as _device
from engine.shape import Size
from engine.tensors import Tensor
from engine.tensors.storage import UntypedStorage

Number: TypeAlias = int | float | bool
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Storage: TypeAlias = UntypedStorage

_size: TypeAlias = Size | list[int] | tuple[int, ...]
_int, _float, _bool, _complex = int, float, bool, complex
_Number = (int, float, bool)
_symint: TypeAlias = int
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Tensor | Sequence[Tensor] | Any

__all__ = ["Device", "FileLike", "Number", "Storage"]
