"""Nodes for learning-rate schedules. They stand behind an optimizer: in a row one follows the other."""

from __future__ import annotations

from typing import Literal

from engine.registry import SCHEDULERS, Entry, Parameter, Size, parameters
from studio.nodes.derived_types import plain_help
from studio.nodes.types import NodeType, Port, PortType, Role

PER_STEP = frozenset({"lr_scheduler.OneCycleLR", "lr_scheduler.CyclicLR"})
"""Schedules that always count steps of the optimizer."""

PLATEAU = "lr_scheduler.ReduceLROnPlateau"
"""Waits for a figure."""

ALONE = frozenset({"lr_scheduler.OneCycleLR", PLATEAU})
"""Schedules that are for the whole training, so that none comes before or after them."""

SETTING = frozenset({"lr_scheduler.OneCycleLR", "lr_scheduler.CyclicLR", "lr_scheduler.CosineAnnealingWarmRestarts"})
"""Schedules that say what the learning rate is, whatever others have made of it."""

LENGTHS = ("T_max", "total_iters")
"""Parameters that say how long a schedule has something to do."""

HIDDEN = {
    "lr_scheduler.OneCycleLR": {"epochs", "steps_per_epoch"},
    PLATEAU: {"mode"},
}
"""Parameters that a graph has no use for: other ways to say the same, and a figure that is always a loss."""


def scheduled(per: Literal["epoch", "step"] = "epoch", lasts: Size | None = None) -> None:
    """What a schedule's node has beside the schedule's own parameters.

    Args:
        per: what the schedule counts: epochs of the training, or steps of the optimizer. Everything that it calls an
            epoch is then a step
        lasts: after how many epochs or steps the schedule that is wired behind it begins; if left out, when it has
            done what it has to do
    """


SCHEDULING = parameters(scheduled)


def schedule_types() -> list[NodeType]:
    """A node type for every schedule that needs no function."""
    return [_schedule(entry) for entry in SCHEDULERS]


def is_per_step(node_type: NodeType, values: object) -> bool:
    """Whether a schedule with these parameters counts steps."""
    return node_type.key in PER_STEP or (isinstance(values, dict) and values.get("per") == "step")


def _schedule(entry: Entry) -> NodeType:
    outputs = (Port("optimizer", PortType.OPTIMIZER, "feeds the schedule that follows", optional=True),)
    return NodeType(
        key=entry.key,
        title=entry.title,
        category="optimizer",
        group=f"Learning rate: {entry.category.lower()}",
        summary=entry.summary,
        help=plain_help(entry.target),
        icon="scheduler",
        inputs=(Port("optimizer", PortType.OPTIMIZER, "whose learning rate it sets, or the schedule before it"),),
        outputs=() if entry.key in ALONE else outputs,
        params=tuple(_parameters(entry)),
        tags=("learning rate", "schedule", "scheduler", *entry.tags),
        was=entry.was,
        role=Role.SCHEDULER,
        target=entry.target,
    )


def _parameters(entry: Entry) -> list[Parameter]:
    hidden = {"last_epoch", *HIDDEN.get(entry.key, ())}
    own = [parameter for parameter in entry.parameters if parameter.name not in hidden]
    if entry.key in ALONE:
        return own
    return [*own, *(each for each in SCHEDULING if each.name != "per" or entry.key not in PER_STEP)]
