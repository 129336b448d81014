"""Scheduler that reduces the learning rate on a plateau."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from engine.optim.lr_scheduler.scheduler import LRScheduler, require_optimizer, set_learning_rate
from engine.optim.optimizer import Optimizer
from engine.registry import SCHEDULERS, Count, NonNegative, Range


@SCHEDULERS.register(category="Decay", title="Reduce on plateau", tags=("adaptive", "patience", "validation"))
class ReduceLROnPlateau(LRScheduler):
    """Multiplies the learning rate by `factor` when a metric has not improved for more than `patience` epochs.

    On the canvas the metric is the validation loss, or the training loss without validation. In scripts,
    `step` takes it as an argument.

    Args:
        mode: "min" if smaller values of the metric are better, "max" if larger
        factor: factor of the learning rate
        patience: epochs without improvement before the learning rate is reduced
        threshold: minimum change that counts as an improvement
        threshold_mode: relative or absolute threshold
        cooldown: epochs after a reduction during which patience does not count
        min_lr: lower bound of the learning rate, or one per parameter group
        eps: minimum change of the learning rate; smaller reductions are skipped
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
            raise ValueError(f"min_lr must contain {count} values, one per parameter group, not {len(self.min_lrs)}")
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
        """Update with the metric of this epoch, a number or a tensor of one element."""
        value = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value, self.best):
            self.best = value
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
                    f"the optimizer has {len(groups)} parameter groups, but min_lrs has {len(self.min_lrs)} values. "
                    "Append a value to min_lrs for each added group."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, min_lr in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, min_lr)
            if old - new > self.eps:
                set_learning_rate(group, new)
