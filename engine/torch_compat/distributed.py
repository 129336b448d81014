"""torch.distributed for a single process: there is no process group, and none can be started.

`is_available()` and `is_initialized()` are False. Functions of a group raise ValueError, like PyTorch's before
`init_process_group`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NoReturn

REMEDY = "Run the program in one process, without torchrun."


class ReduceOp(IntEnum):
    """Reduction of the values of several processes."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


def is_available() -> bool:
    """Return False: only single-process programs are supported."""
    return False


def is_initialized() -> bool:
    """Return False."""
    return False


def is_nccl_available() -> bool:
    """Return False."""
    return False


is_gloo_available = is_mpi_available = is_ucc_available = is_nccl_available


def is_torchelastic_launched() -> bool:
    """Return False."""
    return False


def is_backend_available(backend: str) -> bool:
    """Return False."""
    return False


def init_process_group(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: only single-process programs are supported."""
    raise RuntimeError(f"init_process_group(): training over several processes is not available. {REMEDY}")


def _requires_group(name: str) -> Callable[..., NoReturn]:
    def raise_error(*args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError(
            f"{name}(): there is no process group, and init_process_group() cannot start one. "
            "Check is_initialized() first."
        )

    raise_error.__name__ = raise_error.__qualname__ = name
    raise_error.__doc__ = "Raise ValueError: there is no process group."
    return raise_error


get_rank = _requires_group("get_rank")
get_world_size = _requires_group("get_world_size")
get_backend = _requires_group("get_backend")
new_group = _requires_group("new_group")
destroy_process_group = _requires_group("destroy_process_group")
barrier = _requires_group("barrier")
monitored_barrier = _requires_group("monitored_barrier")
all_reduce = _requires_group("all_reduce")
all_gather = _requires_group("all_gather")
all_gather_object = _requires_group("all_gather_object")
all_to_all = _requires_group("all_to_all")
all_to_all_single = _requires_group("all_to_all_single")
broadcast = _requires_group("broadcast")
broadcast_object_list = _requires_group("broadcast_object_list")
gather = _requires_group("gather")
gather_object = _requires_group("gather_object")
reduce = _requires_group("reduce")
reduce_scatter = _requires_group("reduce_scatter")
scatter = _requires_group("scatter")
send = _requires_group("send")
recv = _requires_group("recv")
isend = _requires_group("isend")
irecv = _requires_group("irecv")

__all__ = [
    "ReduceOp", "all_gather", "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single", "barrier",
    "broadcast", "broadcast_object_list", "destroy_process_group", "gather", "gather_object", "get_backend", "get_rank",
    "get_world_size", "init_process_group", "irecv", "is_available", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "isend",
    "monitored_barrier", "new_group", "recv", "reduce", "reduce_scatter", "scatter", "send",
]  # fmt: skip
