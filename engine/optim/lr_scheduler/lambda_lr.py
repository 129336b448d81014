"""A learning rate that a function gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.optim.lr_scheduler.scheduler import LRScheduler
from engine.optim.optimizer import Optimizer


class LambdaLR(LRScheduler):
    """The first learning rate times a function of the epoch.

    Args:
        lr_lambda: the function, or one for each parameter group
        last_epoch: the epoch to go on from; -1 to start
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas = [lr_lambda] * count if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != count:
            raise ValueError(
                f"the optimizer has {count} parameter groups, but there are {len(self.lr_lambdas)} functions"
            )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [base * scale(self.last_epoch) for base, scale in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        return {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}
