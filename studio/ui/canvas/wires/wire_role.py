"""The role of a wire in training, which determines its color and line style."""

from __future__ import annotations

from enum import StrEnum

from studio.nodes.types import PortType


class WireRole(StrEnum):
    SAMPLES = "samples"
    INPUT = "input"
    """A batch passing through the network."""
    TARGET = "target"
    """The targets of the loss."""
    LOSS = "loss"
    OPTIMIZER = "optimizer"


TARGET_PORT = "target"
"""Name of the loader's second output and of the matching input of losses and metrics."""


def wire_role(kind: PortType, *ports: str) -> WireRole:
    """The role of a wire between ports with this type and these names."""
    if kind is PortType.TENSOR:
        return WireRole.TARGET if TARGET_PORT in ports else WireRole.INPUT
    return WireRole(kind.value)
