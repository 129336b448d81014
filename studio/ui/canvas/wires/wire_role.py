"""What a wire means in training: it decides colour and line style."""

from __future__ import annotations

from enum import StrEnum

from studio.nodes.types import PortType


class WireRole(StrEnum):
    SAMPLES = "samples"
    INPUT = "input"
    """A batch on its way through the network."""
    TARGET = "target"
    """What the network is compared with."""
    LOSS = "loss"
    OPTIMIZER = "optimizer"


TARGET_PORT = "target"
"""The name of the loader's second output and of the input of losses and metrics that it is for."""


def wire_role(kind: PortType, *ports: str) -> WireRole:
    """What flows at ports of a type with these names."""
    if kind is PortType.TENSOR:
        return WireRole.TARGET if TARGET_PORT in ports else WireRole.INPUT
    return WireRole(kind.value)
