"""Access to an optimizer's momentum: "momentum" or the first of "betas"."""

from __future__ import annotations

from typing import Any

from engine.optim.optimizer import Optimizer


def uses_beta1(scheduler: str, optimizer: Optimizer) -> bool:
    """Whether the momentum is the first of "betas". Raises ValueError for optimizers without momentum."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            f"{scheduler}: {type(optimizer).__name__} has no momentum to cycle. Set cycle_momentum to False."
        )
    return "betas" in optimizer.defaults


def set_momentum(group: dict[str, Any], value: float, *, beta1: bool) -> None:
    if beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value
