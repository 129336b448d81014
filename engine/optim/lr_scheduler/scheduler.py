"""The base of all learning-rate schedules."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from engine.optim.optimizer import Optimizer


class LRScheduler(ABC):
    """Sets the learning rate of each of an optimizer's groups; call `step` once an epoch, after the optimizer's.

    A subclass gives `get_lr`. It must set its own attributes before it calls this constructor, which takes the first
    step. The group's "initial_lr" keeps the learning rate that the schedule starts from.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"a schedule drives an Optimizer, not {type(optimizer).__name__}")
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"parameter group {number} has no 'initial_lr', so the schedule cannot go on "
                    f"from epoch {last_epoch}. Load the optimizer's state first, or start with last_epoch=-1."
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._first_optimizer_step = optimizer.steps
        self._advance()

    @abstractmethod
    def get_lr(self) -> list[float]:
        """The learning rate of each group in epoch `last_epoch`."""

    def step(self) -> None:
        """Go on to the next epoch."""
        if self.last_epoch == 0 and self.optimizer.steps == self._first_optimizer_step:
            warnings.warn(
                "the schedule's step() was called before the optimizer's, so the first learning rate is skipped. "
                "Call optimizer.step() first.",
                stacklevel=2,
            )
        self._advance()

    def _advance(self) -> None:
        self.last_epoch += 1
        for group, lr in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = lr

    def get_last_lr(self) -> list[float]:
        """The learning rates that are in use."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions, by attribute name."""
        return {name: value for name, value in vars(self).items() if name != "optimizer" and not callable(value)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken. Load the optimizer's state too: the learning rates are there."""
        vars(self).update(state_dict)
