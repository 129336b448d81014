"""Exponential decay scheduler."""

from __future__ import annotations

from typing import Any

from engine.optim.lr_scheduler.scheduler import LRScheduler
from engine.optim.optimizer import Optimizer
from engine.registry import SCHEDULERS, NonNegative


@SCHEDULERS.register(category="Decay", title="Exponential decay", tags=("geometric",))
class ExponentialLR(LRScheduler):
    """Multiplies the learning rate by `gamma` every epoch.

    Args:
        gamma: factor of the learning rate
        last_epoch: index of the last epoch, to resume; -1 to start
    """

    def __init__(self, optimizer: Optimizer, gamma: NonNegative, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return self._lrs() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]
