"""Learning rates that functions give."""

from __future__ import annotations

from engine.optim.lr_scheduler.lambda_base import LambdaSchedulerBase


class LambdaLR(LambdaSchedulerBase):
    """The first learning rate times a function of the epoch.

    Args:
        lr_lambda: the function, or one for each parameter group
        last_epoch: the epoch to go on from; -1 to start
    """

    def get_lr(self) -> list[float]:
        return [base * scale(self.last_epoch) for base, scale in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(LambdaSchedulerBase):
    """The last learning rate times a function of the epoch.

    Args:
        lr_lambda: the function, or one for each parameter group
        last_epoch: the epoch to go on from; -1 to start
    """

    def get_lr(self) -> list[float]:
        if self._is_initial:
            return self._lrs()
        return [rate * scale(self.last_epoch) for rate, scale in zip(self._lrs(), self.lr_lambdas, strict=True)]
