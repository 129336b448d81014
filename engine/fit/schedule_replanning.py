"""Replanning of learning-rate schedules that span the whole training, when a resumed training changes its length."""

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
"""State keys of a schedule's position; all others belong to its plan."""
_NESTED = "_schedulers"
"""State key of nested schedules."""


@dataclass(frozen=True, slots=True)
class ReplannedSchedule:
    """An optimizer with replanned schedules."""

    optimizer: str
    before: float
    """Learning rate of its first group in the saved state."""
    after: float
    """Learning rate of its first group in the new plan."""


def replan_schedules(task: Task, state: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[ReplannedSchedule, ...]]:
    """Replace the schedule plans in a training state by those of `task`.

    Learning rates become those of a training that had started with the new plan; reductions by ReduceLROnPlateau are
    kept. Schedules with an unchanged plan are not changed.

    Args:
        task: set up, without a loaded state; its schedules are advanced until a state is loaded
        state: the result of `Training.state_dict`

    Raises:
        WeightsError: a schedule has more steps than there were batches.
    """
    parts = dict(state["task"])
    schedulers, optimizers = dict(parts["schedulers"]), dict(parts["optimizers"])
    replanned: list[ReplannedSchedule] = []
    for name, schedule in task.schedulers.items():
        count = 0 if isinstance(schedule, ReduceLROnPlateau) else schedulers[name]["last_epoch"]
        if count > state["step"]:  # replaying this many steps could take forever
            raise WeightsError(
                f"the checkpoint's {name} has {count} steps after {state['step']} batches. Use another checkpoint."
            )
    for name, optimizer in task.optimizers.items():
        replay = _ScheduleReplay(task, optimizer, schedulers, state["epoch"], state["batch"] // task.accumulate)
        if replay.has_new_plan:
            rates = [float(group["lr"]) for group in optimizers[name]["groups"]]
            groups = replay.groups(rates)
            optimizers[name] = {**optimizers[name], "groups": groups}
            schedulers |= replay.states()
            replanned.append(ReplannedSchedule(name, rates[0], float(groups[0]["lr"])))
    return {**state, "task": {**parts, "optimizers": optimizers, "schedulers": schedulers}}, tuple(replanned)


class _ScheduleReplay:
    """Replays the schedules of an optimizer from the start to the position of a state.

    Args:
        states: states of the schedules
        epochs: completed epochs
        steps_in_epoch: steps of the current epoch
    """

    def __init__(
        self, task: Task, optimizer: Optimizer, states: Mapping[str, Any], epochs: int, steps_in_epoch: int
    ) -> None:
        self._optimizer, self._epochs, self._steps_in_epoch = optimizer, epochs, steps_in_epoch
        schedules = {key: schedule for key, schedule in task.schedulers.items() if schedule.optimizer is optimizer}
        self._schedules = {key: one for key, one in schedules.items() if not isinstance(one, ReduceLROnPlateau)}
        self._has_plateau_schedule = len(schedules) > len(self._schedules)
        self._per_step = {key for key in schedules if task.is_stepped_per_batch(key)}
        self._counts = {key: int(states[key]["last_epoch"]) for key in self._schedules}
        self._options = copy_tensors(group_options(optimizer))
        self._new = {key: copy_tensors(one.state_dict()) for key, one in self._schedules.items()}
        self._saved = {key: self._normalized(one, states[key]) for key, one in self._schedules.items()}

    @property
    def has_new_plan(self) -> bool:
        return any(_plan_only(self._saved[key]) != _plan_only(new) for key, new in self._new.items())

    def groups(self, rates: list[float]) -> list[dict[str, Any]]:
        """Options of the optimizer's groups in the new plan; `rates` are those of the saved plan."""
        factors = [1.0] * len(rates)
        if self._has_plateau_schedule:
            saved = {key: _with_plan(self._new[key], self._saved[key]) for key in self._new}
            new = [float(group["lr"]) for group in self._replayed_groups(saved)]
            factors = [rate / plan if plan else 1.0 for rate, plan in zip(rates, new, strict=True)]
        found = self._replayed_groups(self._new)
        return [{**group, "lr": group["lr"] * factor} for group, factor in zip(found, factors, strict=True)]

    def states(self) -> dict[str, dict[str, Any]]:
        """States of the schedules after the replay."""
        return {key: copy_tensors(schedule.state_dict()) for key, schedule in self._schedules.items()}

    def _replayed_groups(self, steps_in_epoch: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        for group, options in zip(self._optimizer.param_groups, copy_tensors(self._options), strict=True):
            group.update(options)
        self._optimizer.steps = 1  # avoids the warning about a schedule before the first optimizer step
        for key, schedule in self._schedules.items():
            schedule.load_state_dict(copy_tensors(steps_in_epoch[key]))
        for _, _, schedule in heapq.merge(*self._steps(), key=lambda step: step[:2]):
            schedule.step()
        return copy_tensors(group_options(self._optimizer))

    def _steps(self) -> Iterator[Iterator[tuple[float, bool, LRScheduler]]]:
        """Times of each schedule's steps, in epochs; per-epoch schedules come after per-step ones."""
        for key, schedule in self._schedules.items():
            per_epoch = key not in self._per_step
            yield zip(self._times(self._counts[key], per_epoch=per_epoch), repeat(per_epoch), repeat(schedule))

    def _times(self, count: int, *, per_epoch: bool) -> Iterator[float]:
        steps_per_epoch = 1 if per_epoch or not self._epochs else max((count - self._steps_in_epoch) // self._epochs, 1)
        return (number / steps_per_epoch for number in range(1, count + 1))

    def _normalized(self, schedule: LRScheduler, state: Mapping[str, Any]) -> dict[str, Any]:
        """Normalize a state whose tuples and keys were changed by a file format."""
        fresh = copy_tensors(schedule.state_dict())
        schedule.load_state_dict(copy_tensors(state))
        found = copy_tensors(schedule.state_dict())
        schedule.load_state_dict(fresh)
        return found


def _plan_only(state: Mapping[str, Any]) -> dict[str, Any]:
    """The constant part of a schedule's state."""
    plan = {key: value for key, value in state.items() if key not in _POSITION}
    return {**plan, _NESTED: [_plan_only(one) for one in state[_NESTED]]} if _NESTED in plan else plan


def _with_plan(state: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The state of a schedule with the plan of another state."""
    found = {key: value if key in _POSITION else other[key] for key, value in state.items()}
    if _NESTED in found:
        found[_NESTED] = [_with_plan(one, two) for one, two in zip(state[_NESTED], other[_NESTED], strict=True)]
    return found


__all__ = ["ReplannedSchedule", "replan_schedules"]
