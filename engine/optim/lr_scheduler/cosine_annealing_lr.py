"""A learning rate that follows half a cosine."""

from __future__ import annotations

import math

from engine.optim.lr_scheduler.scheduler import LRScheduler
from engine.optim.optimizer import Optimizer
from engine.registry import SCHEDULERS, NonNegative, Size


@SCHEDULERS.register(category="Decay", title="Cosine", tags=("annealing", "sgdr"))
class CosineAnnealingLR(LRScheduler):
    """``eta_min + (lr₀ - eta_min) (1 + cos(π epoch / T_max)) / 2`` (Loshchilov and Hutter, arXiv 1608.03983).

    Computed from one epoch to the next, so that changes made to the learning rate from elsewhere stay.

    Args:
        T_max: epochs until the learning rate is lowest
        eta_min: the lowest learning rate
        last_epoch: the epoch to go on from; -1 to start
    """

    def __init__(self, optimizer: Optimizer, T_max: Size, eta_min: NonNegative = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        epoch, half = self.last_epoch, self.T_max
        groups = self.optimizer.param_groups
        if epoch == 0:
            return [group["lr"] for group in groups]
        if (epoch - 1 - half) % (2 * half) == 0:  # on the way up again the quotient below would be 0 / 0
            rise = (1 - math.cos(math.pi / half)) / 2
            return [
                group["lr"] + (base - self.eta_min) * rise for group, base in zip(groups, self.base_lrs, strict=True)
            ]
        ratio = (1 + math.cos(math.pi * epoch / half)) / (1 + math.cos(math.pi * (epoch - 1) / half))
        return [ratio * (group["lr"] - self.eta_min) + self.eta_min for group in groups]
