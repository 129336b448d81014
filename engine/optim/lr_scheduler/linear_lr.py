"""Warm-up schedulers."""

from __future__ import annotations

from typing import Annotated, Any

from engine.optim.lr_scheduler.scheduler import LRScheduler
from engine.optim.optimizer import Optimizer
from engine.registry import SCHEDULERS, Probability, Range, Size


@SCHEDULERS.register(category="Warm-up", title="Constant warm-up", tags=("warm up",))
class ConstantLR(LRScheduler):
    """Multiplies the learning rate by `factor` for the first `total_iters` epochs.

    Args:
        factor: factor of the learning rate during warm-up
        total_iters: number of warm-up epochs
        last_epoch: index of the last epoch, to resume; -1 to start
    """

    def __init__(
        self, optimizer: Optimizer, factor: Probability = 1 / 3, total_iters: Size = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR: factor must be between 0 and 1, not {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        if self.last_epoch != self.total_iters:
            return self._lrs()
        return self._scaled(1 / self.factor) if self.factor else list(self.base_lrs)  # PyTorch divides by 0

    def _get_closed_form_lr(self) -> list[Any]:
        factor = 1 if self.last_epoch >= self.total_iters else self.factor
        return [base * factor for base in self.base_lrs]


@SCHEDULERS.register(category="Warm-up", title="Linear warm-up", tags=("warm up", "ramp"))
class LinearLR(LRScheduler):
    """Multiplies the learning rate by a factor that changes linearly from `start_factor` to `end_factor`.

    Args:
        start_factor: factor of the learning rate in the first epoch
        end_factor: factor of the learning rate after warm-up
        total_iters: epochs until the factor reaches `end_factor`
        last_epoch: index of the last epoch, to resume; -1 to start
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: Annotated[float, Range(gt=0, le=1)] = 1 / 3,
        end_factor: Probability = 1.0,
        total_iters: Size = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"LinearLR: start_factor must be above 0 and at most 1, not {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: end_factor must be between 0 and 1, not {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._lrs()
        change = self.end_factor - self.start_factor
        return self._scaled(1 + change / (self.total_iters * self.start_factor + (self.last_epoch - 1) * change))

    def _get_closed_form_lr(self) -> list[Any]:
        fraction = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * fraction) for base in self.base_lrs]
