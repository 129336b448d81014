"""Inputs of nodes that combine any number of tensors: there is one more than wires."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from itertools import count, islice
from string import ascii_lowercase

from studio.nodes.types import NodeType, Port, PortType

LIMIT = 64
"""Maximum number of inputs."""


class GrowingInputs:
    """Shows the inputs that have a wire and the next free one; at least two.

    Args:
        names: names of the inputs, in order
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._made: dict[frozenset[str], NodeType] = {}

    def __call__(self, node_type: NodeType, params: Mapping[str, object], wired: Set[str]) -> NodeType:
        """The type of a node whose inputs `wired` have a wire."""
        connected = frozenset(wired).intersection(self.names)
        if connected not in self._made:
            self._made[connected] = replace(node_type, inputs=self.ports(connected))
        return self._made[connected]

    def ports(self, connected: Set[str] = frozenset()) -> tuple[Port, ...]:
        """The inputs for those that have a wire. Free ones are required until two are connected."""
        free = [name for name in self.names if name not in connected]
        required = free[: max(0, 2 - len(connected))]
        shown = {*connected, *free[:1], *required, *self.names[:2]}
        return tuple(
            Port(name, PortType.TENSOR, optional=name not in connected and name not in required)
            for name in self.names
            if name in shown
        )


def _letters() -> tuple[str, ...]:
    rounds = (f"{letter}{'' if index == 1 else index}" for index in count(1) for letter in ascii_lowercase)
    return tuple(islice(rounds, LIMIT))


LIST_NAMES = _letters()
"""Inputs of a function that takes a list: a, b, c, …"""

OPERAND_NAMES = ("x", "y", "z", *(f"x{index}" for index in range(4, LIMIT + 1)))
"""Inputs of an associative function: x, y, z, x4, …"""

__all__ = ["LIST_NAMES", "OPERAND_NAMES", "GrowingInputs"]
