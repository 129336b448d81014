"""What a probe shows: an output of a node or a parameter of a layer, or the gradient of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from studio.document.model import Endpoint


@dataclass(frozen=True, slots=True, order=True)
class ProbeTarget:
    """A tensor of the flat graph."""

    node: str
    """Path of the node: "encoder.0.fc1"."""
    name: str
    """Output port, or path of the parameter in its layer."""
    kind: Literal["output", "parameter"] = "output"
    is_gradient: bool = False
    """The gradient of the loss with respect to the tensor."""

    @property
    def key(self) -> str:
        """Path of the tensor: "conv1.output", "conv1.weight"."""
        return f"{self.node}.{self.name}"

    @property
    def end(self) -> Endpoint:
        """The output."""
        return Endpoint(self.node, self.name)

    @property
    def title(self) -> str:
        return f"Gradient of {self.key}" if self.is_gradient else self.key


__all__ = ["ProbeTarget"]
