"""The learning rate that is planned for an optimizer over the training, worked out with the schedules themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.optim import lr_scheduler
from engine.optim.lr_scheduler import LRScheduler
from studio.lowering.analysis.node_evaluation import make_schedule
from studio.lowering.schedules.schedule_context import ScheduleContext
from studio.nodes.types import NodeType

LONGEST = 100_000
"""Steps that are worked out one by one; of longer trainings no course is told."""


@dataclass(frozen=True, slots=True)
class PlannedChain:
    """Schedules that follow each other, with their arguments."""

    schedules: tuple[tuple[NodeType, Mapping[str, Any]], ...]
    milestones: tuple[int, ...]
    per_step: bool

    def make(self, optimizer: Any) -> LRScheduler:
        made = [make_schedule(node_type, arguments, optimizer) for node_type, arguments in self.schedules]
        return made[0] if len(made) == 1 else lr_scheduler.SequentialLR(optimizer, made, list(self.milestones))


@dataclass(frozen=True, slots=True)
class LearningRatePlan:
    """The plan for one optimizer."""

    nodes: frozenset[str]
    """The optimizer and its schedules."""
    context: ScheduleContext
    chains: tuple[PlannedChain, ...]
    waits: bool
    """A schedule among them acts on the validation loss, which nobody knows beforehand; it is left out."""

    @property
    def per_step(self) -> bool:
        return any(chain.per_step for chain in self.chains)

    @property
    def unit(self) -> str:
        """What the time is told in: "epoch", or "step" where nobody knows how long an epoch is."""
        return "step" if self.per_step and self.context.length.steps is None else "epoch"

    def rates(self) -> list[tuple[float, float]]:
        """(time in units, learning rate from there on), the end of the training last; empty if it is too long."""
        length = self.context.length
        total = length.total(per_step=self.per_step)
        steps = length.steps if self.per_step and length.steps is not None else 1
        if total is None or total > LONGEST:
            return []
        optimizer = self.context.make()
        made = [(chain.make(optimizer), chain.per_step) for chain in self.chains]
        optimizer.steps = 1  # a schedule would complain that it goes on before the optimizer
        found: list[tuple[float, float]] = []
        for number in range(total):
            epoch, step = divmod(number, steps)
            found.append((epoch + step / steps, float(optimizer.param_groups[0]["lr"])))
            self._go_on(made, per_step=True)
            if self.unit == "epoch" and step == steps - 1:
                self._go_on(made, per_step=False)
        return [*found, (total / steps, found[-1][1])]

    def _go_on(self, made: list[tuple[LRScheduler, bool]], *, per_step: bool) -> None:
        for schedule, counts_steps in made:
            if counts_steps == per_step:
                schedule.step()
