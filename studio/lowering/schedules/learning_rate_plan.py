"""The planned learning rates of an optimizer, computed by running its schedules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.optim import lr_scheduler
from engine.optim.lr_scheduler import LRScheduler
from studio.lowering.analysis.node_evaluation import make_schedule
from studio.lowering.schedules.schedule_context import ScheduleContext
from studio.nodes.types import NodeType

MAX_LENGTH = 100_000
"""Maximum length of a training, in steps or epochs, for which learning rates are computed."""


@dataclass(frozen=True, slots=True)
class PlannedChain:
    """Consecutive schedules with their arguments."""

    schedules: tuple[tuple[NodeType, Mapping[str, Any]], ...]
    milestones: tuple[int, ...]
    per_step: bool

    def make(self, optimizer: Any) -> LRScheduler:
        schedules = [make_schedule(node_type, arguments, optimizer) for node_type, arguments in self.schedules]
        return (
            schedules[0]
            if len(schedules) == 1
            else lr_scheduler.SequentialLR(optimizer, schedules, list(self.milestones))
        )


@dataclass(frozen=True, slots=True)
class LearningRatePlan:
    """The planned learning rates of one optimizer."""

    nodes: frozenset[str]
    """The optimizer and its schedules."""
    context: ScheduleContext
    chains: tuple[PlannedChain, ...]
    excludes_plateau: bool
    """Whether a schedule is not included because it depends on the validation loss, which is unknown in advance."""

    @property
    def per_step(self) -> bool:
        return any(chain.per_step for chain in self.chains)

    @property
    def unit(self) -> str:
        """Unit of time: "epoch", or "step" if the length of an epoch is unknown."""
        return "step" if self.per_step and self.context.length.steps is None else "epoch"

    def rates(self) -> list[tuple[float, float]]:
        """Pairs (time, learning rate from then on), ending with the training; empty if it is too long."""
        length = self.context.length
        total = length.total(per_step=self.per_step)
        steps = length.steps if self.per_step and length.steps is not None else 1
        if total is None or total > MAX_LENGTH:
            return []
        optimizer = self.context.make()
        schedules = [(chain.make(optimizer), chain.per_step) for chain in self.chains]
        optimizer.steps = 1  # otherwise schedules warn that they step before the optimizer
        rates: list[tuple[float, float]] = []
        for number in range(total):
            epoch, step = divmod(number, steps)
            rates.append((epoch + step / steps, float(optimizer.param_groups[0]["lr"])))
            self._step(schedules, per_step=True)
            if self.unit == "epoch" and step == steps - 1:
                self._step(schedules, per_step=False)
        return [*rates, (total / steps, rates[-1][1])]

    def _step(self, schedules: list[tuple[LRScheduler, bool]], *, per_step: bool) -> None:
        for schedule, counts_steps in schedules:
            if counts_steps == per_step:
                schedule.step()
