"""Schedulers that combine other schedulers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from engine.optim.lr_scheduler.reduce_lr_on_plateau import ReduceLROnPlateau
from engine.optim.lr_scheduler.scheduler import LRScheduler, set_learning_rate
from engine.optim.optimizer import Optimizer


class CompositeScheduler(LRScheduler):
    """Base of schedulers that contain others; its state dict contains theirs."""

    _schedulers: list[LRScheduler]

    def _set_schedulers(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
        if not schedulers:
            raise ValueError(f"{type(self).__name__} requires at least one scheduler")
        for number, schedule in enumerate(schedulers):
            if not isinstance(schedule, LRScheduler):
                raise TypeError(
                    f"{type(self).__name__}: scheduler {number} is not an LRScheduler but {type(schedule).__name__}"
                )
            if isinstance(schedule, ReduceLROnPlateau):
                raise ValueError(
                    f"{type(self).__name__}: scheduler {number} is ReduceLROnPlateau, whose step() requires a metric. "
                    "Call it separately."
                )
            if schedule.optimizer is not optimizer:
                raise ValueError(
                    f"{type(self).__name__}: scheduler {number} has a different optimizer. All must share one."
                )
        self._schedulers = list(schedulers)
        self.optimizer = optimizer

    def state_dict(self) -> dict[str, Any]:
        states = [schedule.state_dict() for schedule in self._schedulers]
        return {**super().state_dict(), "_schedulers": states}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        for schedule, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            schedule.load_state_dict(state)
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_schedulers"})


class SequentialLR(CompositeScheduler):
    """Runs schedulers one after another.

    Args:
        schedulers: schedulers in order
        milestones: epochs at which the second and later schedulers start
        last_epoch: index of the last epoch, to resume; -1 to start
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        self._set_schedulers(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: {len(schedulers)} schedulers require {len(schedulers) - 1} milestones, "
                f"not {len(milestones)}"
            )
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            set_learning_rate(group, group["initial_lr"])
        _undo_initial_step(self)  # each scheduler took a step in its constructor
        first = self._schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            schedule._go_to(0)
        else:
            schedule.step()
        self._last_lr = schedule.get_last_lr()


class ChainedScheduler(CompositeScheduler):
    """Applies several schedulers in every step, each to the result of the previous one.

    Args:
        schedulers: schedulers
        optimizer: optimizer of all schedulers (default: that of the first)
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler requires at least one scheduler")
        self._set_schedulers(schedulers, optimizer or schedulers[0].optimizer)
        self._last_lr = self._lrs()

    def step(self, epoch: int | None = None) -> None:
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = self._lrs()


def _undo_initial_step(schedule: LRScheduler) -> None:
    if isinstance(schedule, CompositeScheduler):
        for inner in schedule._schedulers:
            _undo_initial_step(inner)
    else:
        schedule.last_epoch -= 1
