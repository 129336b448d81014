"""The node that combines several losses into one."""

from __future__ import annotations

from engine.registry import parameters
from studio.nodes.derived_types import plain_help
from studio.nodes.types import NodeType, Port, PortType, Role

SUM = "studio.LossSum"

WEIGHTS = {"a": "weight_a", "b": "weight_b", "c": "weight_c", "d": "weight_d"}
"""Weight parameter by input port."""


def weighted_sum(weight_a: float = 1.0, weight_b: float = 1.0, weight_c: float = 1.0, weight_d: float = 1.0) -> None:
    """Weighted sum of up to four losses.

    An optimizer minimizes one loss. To train a network for several objectives, add their losses here with
    weights that balance them.

    Args:
        weight_a: factor of loss a
        weight_b: factor of loss b
        weight_c: factor of loss c
        weight_d: factor of loss d
    """


def loss_types() -> list[NodeType]:
    help = plain_help(weighted_sum)
    return [
        NodeType(
            key=SUM,
            title="Combine losses",
            category="loss",
            group="Combination",
            summary=help.partition("\n")[0],
            help=help,
            icon="loss",
            inputs=tuple(Port(name, PortType.LOSS, optional=index > 1) for index, name in enumerate(WEIGHTS)),
            outputs=(Port("loss", PortType.LOSS),),
            params=parameters(weighted_sum),
            tags=("total loss", "weighted sum", "multi-task"),
            role=Role.LOSS_SUM,
        )
    ]
