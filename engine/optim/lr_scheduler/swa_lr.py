"""Scheduler for stochastic weight averaging."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from engine.optim.lr_scheduler.scheduler import LRScheduler, per_group, require_optimizer
from engine.optim.optimizer import Optimizer


class SWALR(LRScheduler):
    """Anneals the learning rate to a constant value for weight averaging (Izmailov et al., arXiv 1803.05407).

    Args:
        swa_lr: final learning rate, or one per parameter group
        anneal_epochs: number of annealing epochs
        anneal_strategy: annealing along a cosine or linearly
        last_epoch: index of the last epoch, to resume; -1 to start
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        require_optimizer(optimizer)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"SWALR: anneal_strategy must be 'cos' or 'linear', not {anneal_strategy!r}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"SWALR: anneal_epochs must be an integer ≥ 0, not {anneal_epochs!r}")
        for group, rate in zip(optimizer.param_groups, per_group("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._annealed_fraction(step - 1), self._annealed_fraction(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates

    def _annealed_fraction(self, step: int) -> float:
        """Annealed fraction after a number of steps."""
        progress = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return progress if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * progress)) / 2
