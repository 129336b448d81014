"""Polynomial decay scheduler."""

from __future__ import annotations

from typing import Annotated, Any

from engine.optim.lr_scheduler.scheduler import LRScheduler
from engine.optim.optimizer import Optimizer
from engine.registry import SCHEDULERS, FromTraining, NonNegative, Size


@SCHEDULERS.register(category="Decay", title="Polynomial decay", tags=("power", "linear decay"))
class PolynomialLR(LRScheduler):
    """Polynomial decay to 0: ``lr₀ (1 - epoch / total_iters) ** power``.

    Args:
        total_iters: epochs until the learning rate is 0
        power: exponent; 1 for linear decay
        last_epoch: index of the last epoch, to resume; -1 to start
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: Annotated[Size, FromTraining()] = 5,
        power: NonNegative = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._lrs()
        now, before = (1 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return self._scaled((now / before) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        remaining = 1 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * remaining**self.power for base in self.base_lrs]
