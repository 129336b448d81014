"""Nodes for learning-rate schedules, which follow an optimizer or each other."""

from __future__ import annotations

from typing import Literal

from engine.registry import SCHEDULERS, Parameter, RegistryEntry, Size, parameters
from studio.nodes.derived_types import plain_help
from studio.nodes.types import NodeType, Port, PortType, Role

PER_STEP = frozenset({"lr_scheduler.OneCycleLR", "lr_scheduler.CyclicLR"})
"""Schedules that always count optimizer steps."""

PLATEAU = "lr_scheduler.ReduceLROnPlateau"
"""The schedule that depends on the validation loss."""

ALONE = frozenset({"lr_scheduler.OneCycleLR", PLATEAU})
"""Schedules that cover the whole training, so that no other schedule can precede or follow them."""

SETTING = frozenset({"lr_scheduler.OneCycleLR", "lr_scheduler.CyclicLR", "lr_scheduler.CosineAnnealingWarmRestarts"})
"""Schedules that set the learning rate and override others."""

LENGTHS = ("T_max", "total_iters")
"""Parameters that determine the length of a schedule."""

HIDDEN = {
    "lr_scheduler.OneCycleLR": {"epochs", "steps_per_epoch"},
    PLATEAU: {"mode"},
}
"""Parameters that a graph does not need."""


def scheduled(per: Literal["epoch", "step"] = "epoch", lasts: Size | None = None) -> None:
    """Parameters of a schedule node in addition to those of the schedule.

    Args:
        per: unit of the schedule: epochs or optimizer steps; with step, parameters described in epochs count steps
        lasts: number of epochs or steps before the next schedule starts; if empty, the length of this schedule
    """


SCHEDULING = parameters(scheduled)


def schedule_types() -> list[NodeType]:
    """A node type for each schedule without function arguments."""
    return [_schedule(entry) for entry in SCHEDULERS]


def is_per_step(node_type: NodeType, values: object) -> bool:
    """Whether a schedule with these parameters counts optimizer steps."""
    return node_type.key in PER_STEP or (isinstance(values, dict) and values.get("per") == "step")


def _schedule(entry: RegistryEntry) -> NodeType:
    outputs = (Port("optimizer", PortType.OPTIMIZER, "input of the next schedule", optional=True),)
    return NodeType(
        key=entry.key,
        title=entry.title,
        category="optimizer",
        group=f"Learning rate: {entry.category.lower()}",
        summary=entry.summary,
        help=plain_help(entry.target),
        icon="scheduler",
        inputs=(
            Port(
                "optimizer", PortType.OPTIMIZER, "optimizer whose learning rate is scheduled, or the previous schedule"
            ),
        ),
        outputs=() if entry.key in ALONE else outputs,
        params=tuple(_parameters(entry)),
        tags=("learning rate", "schedule", "scheduler", *entry.tags),
        was=entry.was,
        role=Role.SCHEDULER,
        target=entry.target,
    )


def _parameters(entry: RegistryEntry) -> list[Parameter]:
    hidden = {"last_epoch", *HIDDEN.get(entry.key, ())}
    own = [parameter for parameter in entry.parameters if parameter.name not in hidden]
    if entry.key in ALONE:
        return own
    return [*own, *(each for each in SCHEDULING if each.name != "per" or entry.key not in PER_STEP)]
