"""Pickling of tensors in shared memory between processes. Imported when the first tensor is moved there."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

from engine.errors import SharingError
from engine.tensors.tensor import Tensor


def refuse_copies(kind: type[Tensor]) -> None:
    """Make multiprocessing refuse to pickle shared tensors of a class: the copy would not see later writes."""
    ForkingPickler.register(Tensor, _reduce)
    ForkingPickler.register(kind, _reduce)


def _reduce(tensor: Tensor) -> Any:
    if tensor.is_cpu and tensor.is_shared():
        raise SharingError(
            "a tensor in shared memory cannot be sent to another process, which would write to a copy. "
            'Start processes with get_context("fork") to share it, or send a clone().'
        )
    return tensor.__reduce_ex__(4)
