"""A learning rate that falls in steps."""

from __future__ import annotations

from engine.optim.lr_scheduler.scheduler import LRScheduler
from engine.optim.optimizer import Optimizer
from engine.registry import SCHEDULERS, NonNegative, Size


@SCHEDULERS.register(category="Decay", title="Step decay", tags=("steps", "staircase"))
class StepLR(LRScheduler):
    """Multiplies the learning rate by `gamma` every `step_size` epochs.

    Args:
        step_size: epochs from one fall to the next
        gamma: what the learning rate is multiplied by
        last_epoch: the epoch to go on from; -1 to start
    """

    def __init__(self, optimizer: Optimizer, step_size: Size, gamma: NonNegative = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        falls = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [group["lr"] * (self.gamma if falls else 1) for group in self.optimizer.param_groups]
