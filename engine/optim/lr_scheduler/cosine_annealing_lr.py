"""Cosine annealing schedulers."""

from __future__ import annotations

import math
from typing import Annotated, Any

from engine.optim.lr_scheduler.scheduler import LRScheduler
from engine.optim.optimizer import Optimizer
from engine.registry import SCHEDULERS, FromTraining, NonNegative, Size


@SCHEDULERS.register(category="Decay", title="Cosine annealing", tags=("annealing", "sgdr"))
class CosineAnnealingLR(LRScheduler):
    """Cosine decay to `eta_min`: ``eta_min + (lr₀ - eta_min) (1 + cos(π epoch / T_max)) / 2``.

    Computed recursively from the current learning rate, so other changes of the learning rate are kept. Source:
    Loshchilov and Hutter, arXiv 1608.03983.

    Args:
        T_max: epochs until the learning rate reaches its minimum
        eta_min: minimum learning rate
        last_epoch: index of the last epoch, to resume; -1 to start
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_max: Annotated[Size, FromTraining()],
        eta_min: NonNegative = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch, half = self.last_epoch, self.T_max
        if self._is_initial:
            return self._lrs()
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        rates = self._lrs()
        if (epoch - 1 - half) % (2 * half) == 0:  # after the minimum, the ratio below would be 0 / 0
            rise = (1 - math.cos(math.pi / half)) / 2
            return [rate + (base - self.eta_min) * rise for rate, base in zip(rates, self.base_lrs, strict=True)]
        ratio = (1 + math.cos(math.pi * epoch / half)) / (1 + math.cos(math.pi * (epoch - 1) / half))
        return [ratio * (rate - self.eta_min) + self.eta_min for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        fraction = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * fraction for base in self.base_lrs]


@SCHEDULERS.register(
    category="Cycles", title="Cosine annealing with warm restarts", tags=("annealing", "sgdr", "warm restarts")
)
class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine decay that restarts periodically, with periods that grow by the factor `T_mult`.

    In scripts, `step` accepts fractional epochs. Source: Loshchilov and Hutter, arXiv 1608.03983.

    Args:
        T_0: length of the first period in epochs
        T_mult: growth factor of the period after each restart
        eta_min: minimum learning rate
        last_epoch: index of the last epoch, to resume; -1 to start
    """

    def __init__(
        self, optimizer: Optimizer, T_0: Size, T_mult: Size = 1, eta_min: NonNegative = 0.0, last_epoch: int = -1
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"CosineAnnealingWarmRestarts: {name} must be an integer ≥ 1, not {value!r}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        fraction = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * fraction for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = epoch or 0
            if epoch < 0:
                raise ValueError(f"CosineAnnealingWarmRestarts: the epoch must be ≥ 0, not {epoch}")
            self.T_cur, self.T_i = self._period_position(epoch)
        self.last_epoch = math.floor(epoch) - 1
        self._go_to()

    def _period_position(self, epoch: float) -> tuple[float, int]:
        """Epochs since the last restart, and the length of the current period."""
        if epoch < self.T_0:
            return epoch, self.T_0
        if self.T_mult == 1:
            return epoch % self.T_0, self.T_0
        restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        start = self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
        return epoch - start, self.T_0 * self.T_mult**restarts
