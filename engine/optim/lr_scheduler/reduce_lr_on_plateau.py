"""A learning rate that falls when a figure no longer improves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from engine.optim.lr_scheduler.scheduler import LRScheduler, require_optimizer, set_learning_rate
from engine.optim.optimizer import Optimizer
from engine.registry import SCHEDULERS, Count, NonNegative, Range


@SCHEDULERS.register(category="Decay", title="Reduce on plateau", tags=("adaptive", "patience", "validation"))
class ReduceLROnPlateau(LRScheduler):
    """Multiplies the learning rate by `factor` when a figure has not improved for more than `patience` epochs.

    `step` takes the figure, for instance the validation loss.

    Args:
        mode: whether a smaller or a larger figure is better
        factor: what the learning rate is multiplied by
        patience: epochs without improvement that are let pass
        threshold: how much better counts as better
        threshold_mode: the threshold is a share of the best figure, or a difference
        cooldown: epochs after a fall in which nothing is counted
        min_lr: the lowest learning rate, or one for each parameter group
        eps: smaller falls are left out
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: Annotated[float, Range(ge=0, lt=1)] = 0.1,
        patience: Count = 10,
        threshold: NonNegative = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: Count = 0,
        min_lr: NonNegative | Sequence[float] = 0,
        eps: NonNegative = 1e-8,
    ) -> None:
        require_optimizer(optimizer)
        if factor >= 1:
            raise ValueError(f"ReduceLROnPlateau: factor must be below 1, not {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"ReduceLROnPlateau: mode must be 'min' or 'max', not {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"ReduceLROnPlateau: threshold_mode must be 'rel' or 'abs', not {threshold_mode!r}")
        self.factor = factor
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        self.default_min_lr = None if isinstance(min_lr, Sequence) else min_lr
        self.min_lrs = list(min_lr) if isinstance(min_lr, Sequence) else [min_lr] * count
        if len(self.min_lrs) != count:
            raise ValueError(f"the optimizer has {count} parameter groups, but there are {len(self.min_lrs)} min_lr")
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._lrs()
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take note of this epoch's figure, a number or a tensor of one element."""
        figure = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(figure, self.best):
            self.best = figure
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._lrs()

    def is_better(self, a: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        bound = best * (1 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return sign * a > sign * bound

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(self.min_lrs) != len(groups):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"the optimizer has {len(groups)} parameter groups now, but min_lr was given for "
                    f"{len(self.min_lrs)}. Change the schedule's min_lrs too when you add a group."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_learning_rate(group, new)
