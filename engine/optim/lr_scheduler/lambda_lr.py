"""Schedulers with user-defined functions."""

from __future__ import annotations

from engine.optim.lr_scheduler.lambda_base import LambdaSchedulerBase


class LambdaLR(LambdaSchedulerBase):
    """Sets the learning rate to the initial one times a function of the epoch.

    Args:
        lr_lambda: function of the epoch, or one function per parameter group
        last_epoch: index of the last epoch, to resume; -1 to start
    """

    def get_lr(self) -> list[float]:
        return [base * scale(self.last_epoch) for base, scale in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(LambdaSchedulerBase):
    """Multiplies the learning rate by a function of the epoch.

    Args:
        lr_lambda: function of the epoch, or one function per parameter group
        last_epoch: index of the last epoch, to resume; -1 to start
    """

    def get_lr(self) -> list[float]:
        if self._is_initial:
            return self._lrs()
        return [rate * scale(self.last_epoch) for rate, scale in zip(self._lrs(), self.lr_lambdas, strict=True)]
