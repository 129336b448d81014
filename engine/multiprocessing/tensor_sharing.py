"""What happens to tensors on the way to another process."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

from engine.errors import SharingError
from engine.nn.parameter import Parameter
from engine.tensors import Tensor

STRATEGY = "file_system"
"""What PyTorch calls the way that needs no open files; the name has no effect here."""


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """The name that was set last."""
    return STRATEGY


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted so that programs run unchanged: tensors are copied in any case."""
    global STRATEGY
    if new_strategy not in get_all_sharing_strategies():
        known = ", ".join(sorted(get_all_sharing_strategies()))
        raise ValueError(f"set_sharing_strategy() takes one of {known}, not {new_strategy!r}")
    STRATEGY = new_strategy


def reduce_tensor(tensor: Tensor) -> Any:
    """How multiprocessing pickles a tensor. Raises SharingError for one in shared memory."""
    if tensor.is_cpu and tensor.is_shared():
        raise SharingError(
            "a tensor of share_memory_() was sent to another process, which would write to a copy of it. "
            'Start processes by get_context("fork"), which share it, or send a clone().'
        )
    return tensor.__reduce_ex__(4)


def install() -> None:
    """Has multiprocessing pickle tensors by `reduce_tensor`."""
    for kind in (Tensor, Parameter):
        ForkingPickler.register(kind, reduce_tensor)
