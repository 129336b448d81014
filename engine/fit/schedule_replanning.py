"""Schedules that are planned for a whole training, when one is taken up again that is to be longer than it was."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from engine.errors import WeightsError
from engine.fit.task import Task
from engine.fit.task_state import copy_tensors, group_options
from engine.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from engine.optim.optimizer import Optimizer

_POSITION = ("last_epoch", "_step_count", "_is_initial", "_last_lr", "T_cur", "T_i")
"""What a schedule knows of where it is; all else is its plan."""
_NESTED = "_schedulers"
"""The states of the schedules that one is made of."""


@dataclass(frozen=True, slots=True)
class ReplannedSchedule:
    """An optimizer whose schedules are planned anew."""

    optimizer: str
    before: float
    """The learning rate of its first group, as it was put down."""
    after: float
    """What it is by the new plan."""


def replan_schedules(task: Task, state: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[ReplannedSchedule, ...]]:
    """The state of a training, with schedules planned as those of `task` are instead of as they were.

    Learning rates are then what they would be there, had the training begun with this plan; whatever a
    ReduceLROnPlateau has made of them, it still has. Where nothing is planned otherwise, all stays as it is.

    Args:
        task: set up, with no state loaded. Its schedules are moved by this, until one is
        state: what `Training.state_dict` gave

    Raises:
        WeightsError: a schedule went on more often than there were batches.
    """
    parts = dict(state["task"])
    schedulers, optimizers = dict(parts["schedulers"]), dict(parts["optimizers"])
    found: list[ReplannedSchedule] = []
    for name, schedule in task.schedulers.items():
        count = 0 if isinstance(schedule, ReduceLROnPlateau) else schedulers[name]["last_epoch"]
        if count > state["step"]:  # walking there would take as long as it says
            raise WeightsError(
                f"the checkpoint's {name} went on {count} times in {state['step']} batches. Use another checkpoint."
            )
    for name, optimizer in task.optimizers.items():
        walk = _ScheduleReplay(task, optimizer, schedulers, state["epoch"], state["batch"] // task.accumulate)
        if walk.is_planned_otherwise:
            rates = [float(group["lr"]) for group in optimizers[name]["groups"]]
            groups = walk.groups(rates)
            optimizers[name] = {**optimizers[name], "groups": groups}
            schedulers |= walk.states()
            found.append(ReplannedSchedule(name, rates[0], float(groups[0]["lr"])))
    return {**state, "task": {**parts, "optimizers": optimizers, "schedulers": schedulers}}, tuple(found)


class _ScheduleReplay:
    """The schedules of an optimizer, taken from their beginning to the place of a state.

    Args:
        states: those of the schedules there
        epochs: that are done there
        begun: steps of the epoch that has begun
    """

    def __init__(self, task: Task, optimizer: Optimizer, states: Mapping[str, Any], epochs: int, begun: int) -> None:
        self._optimizer, self._epochs, self._begun = optimizer, epochs, begun
        own = {key: schedule for key, schedule in task.schedulers.items() if schedule.optimizer is optimizer}
        self._schedules = {key: one for key, one in own.items() if not isinstance(one, ReduceLROnPlateau)}
        self._falls = len(own) > len(self._schedules)
        self._per_step = {key for key in own if task.is_stepped_per_batch(key)}
        self._counts = {key: int(states[key]["last_epoch"]) for key in self._schedules}
        self._options = copy_tensors(group_options(optimizer))
        self._planned = {key: copy_tensors(one.state_dict()) for key, one in self._schedules.items()}
        self._former = {key: self._normal(one, states[key]) for key, one in self._schedules.items()}

    @property
    def is_planned_otherwise(self) -> bool:
        return any(_plan_only(self._former[key]) != _plan_only(planned) for key, planned in self._planned.items())

    def groups(self, rates: list[float]) -> list[dict[str, Any]]:
        """The options of the optimizer's groups, which have `rates` by the former plan."""
        shares = [1.0] * len(rates)
        if self._falls:
            former = {key: _with_plan(self._planned[key], self._former[key]) for key in self._planned}
            planned = [float(group["lr"]) for group in self._walked(former)]
            shares = [rate / plan if plan else 1.0 for rate, plan in zip(rates, planned, strict=True)]
        found = self._walked(self._planned)
        return [{**group, "lr": group["lr"] * share} for group, share in zip(found, shares, strict=True)]

    def states(self) -> dict[str, dict[str, Any]]:
        """Those of the schedules, once they are there."""
        return {key: copy_tensors(schedule.state_dict()) for key, schedule in self._schedules.items()}

    def _walked(self, begun: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        for group, options in zip(self._optimizer.param_groups, copy_tensors(self._options), strict=True):
            group.update(options)
        self._optimizer.steps = 1  # a schedule would complain that it goes on before the optimizer
        for key, schedule in self._schedules.items():
            schedule.load_state_dict(copy_tensors(begun[key]))
        for _, _, schedule in heapq.merge(*self._steps(), key=lambda step: step[:2]):
            schedule.step()
        return copy_tensors(group_options(self._optimizer))

    def _steps(self) -> Iterator[Iterator[tuple[float, bool, LRScheduler]]]:
        """When each schedule goes on, in epochs, and whether others go first then."""
        for key, schedule in self._schedules.items():
            late = key not in self._per_step
            yield zip(self._times(self._counts[key], late=late), repeat(late), repeat(schedule))

    def _times(self, count: int, *, late: bool) -> Iterator[float]:
        pace = 1 if late or not self._epochs else max((count - self._begun) // self._epochs, 1)
        return (number / pace for number in range(1, count + 1))

    def _normal(self, schedule: LRScheduler, state: Mapping[str, Any]) -> dict[str, Any]:
        """A state as the schedule has it itself, whatever a file has made of its tuples and keys."""
        fresh = copy_tensors(schedule.state_dict())
        schedule.load_state_dict(copy_tensors(state))
        found = copy_tensors(schedule.state_dict())
        schedule.load_state_dict(fresh)
        return found


def _plan_only(state: Mapping[str, Any]) -> dict[str, Any]:
    """Of the state of a schedule, what does not change."""
    plan = {key: value for key, value in state.items() if key not in _POSITION}
    return {**plan, _NESTED: [_plan_only(one) for one in state[_NESTED]]} if _NESTED in plan else plan


def _with_plan(state: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The state of a schedule with the plan of another."""
    found = {key: value if key in _POSITION else other[key] for key, value in state.items()}
    if _NESTED in found:
        found[_NESTED] = [_with_plan(one, two) for one, two in zip(state[_NESTED], other[_NESTED], strict=True)]
    return found


__all__ = ["ReplannedSchedule", "replan_schedules"]
