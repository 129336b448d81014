"""torch.distributed.nn: differentiable functions of a process group. Each raises ValueError, as there is no group."""

from engine.torch_compat.distributed import (
    ReduceOp,
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)

__all__ = [
    "ReduceOp",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]
