"""The momentum of an optimizer, whatever it calls it: schedules may let it cycle against the learning rate."""

from __future__ import annotations

from typing import Any

from engine.optim.optimizer import Optimizer


def uses_beta1(schedule: str, optimizer: Optimizer) -> bool:
    """Whether the momentum is the first of "betas". Raises ValueError if the optimizer has none at all."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            f"{schedule}: {type(optimizer).__name__} has neither momentum nor betas that could cycle. "
            "Turn cycle_momentum off."
        )
    return "betas" in optimizer.defaults


def set_momentum(group: dict[str, Any], value: float, *, beta1: bool) -> None:
    if beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value
