"""Step decay schedulers."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from engine.optim.lr_scheduler.scheduler import LRScheduler
from engine.optim.optimizer import Optimizer
from engine.registry import SCHEDULERS, NonNegative, Size


@SCHEDULERS.register(category="Decay", title="Step decay", tags=("steps", "staircase"))
class StepLR(LRScheduler):
    """Multiplies the learning rate by `gamma` every `step_size` epochs.

    Args:
        step_size: epochs between decays
        gamma: factor of the learning rate
        last_epoch: index of the last epoch, to resume; -1 to start
    """

    def __init__(self, optimizer: Optimizer, step_size: Size, gamma: NonNegative = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._lrs()
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


@SCHEDULERS.register(category="Decay", title="Multi-step decay", tags=("steps", "milestones"))
class MultiStepLR(LRScheduler):
    """Multiplies the learning rate by `gamma` at each milestone.

    Args:
        milestones: epochs of the decays; a repeated epoch counts repeatedly
        gamma: factor of the learning rate
        last_epoch: index of the last epoch, to resume; -1 to start
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: tuple[Size, ...] | Iterable[int],
        gamma: NonNegative = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Any]:
        decays = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**decays for base in self.base_lrs]

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self.milestones = Counter({int(epoch): count for epoch, count in dict(self.milestones).items()})
