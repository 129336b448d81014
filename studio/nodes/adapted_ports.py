"""Ports that depend on parameters: the outputs of a split, the inputs of a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import cast

from studio.nodes.types import NodeType, Port, PortType

MAX_PORTS = 64


class CountedOutputs:
    """As many outputs as a number says, or as a list has elements.

    Args:
        param: the parameter
        count: the number if the parameter is not set
    """

    def __init__(self, param: str, count: int = 2) -> None:
        self.param = param
        self._count = count
        self._made: dict[int, NodeType] = {}

    def __call__(self, node_type: NodeType, params: Mapping[str, object], wired: Set[str]) -> NodeType:
        count = self._count_of(params.get(self.param))
        if count not in self._made:
            self._made[count] = replace(node_type, outputs=self.ports(count))
        return self._made[count]

    def ports(self, count: int | None = None) -> tuple[Port, ...]:
        return tuple(Port(f"out{index}", PortType.TENSOR) for index in range(self._count if count is None else count))

    def _count_of(self, value: object) -> int:
        if isinstance(value, list):
            value = len(cast("list[object]", value))
        is_count = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_PORTS
        return value if is_count and isinstance(value, int) else self._count


class NamedInputs:
    """The inputs that a text names.

    Args:
        param: the parameter
        names: reads the text; raises ValueError if it is not valid
        default: the text if the parameter is not set or not valid
    """

    def __init__(self, param: str, names: Callable[[str], tuple[str, ...]], default: str) -> None:
        self.param = param
        self._names = names
        self._default = default
        self._made: dict[tuple[str, ...], NodeType] = {}

    def __call__(self, node_type: NodeType, params: Mapping[str, object], wired: Set[str]) -> NodeType:
        try:
            names = self._names(str(params.get(self.param, self._default)))
        except ValueError:
            names = tuple(sorted(wired)) or self._names(self._default)  # wires stay while the text is being corrected
        if names not in self._made:
            self._made[names] = replace(node_type, inputs=tuple(Port(name, PortType.TENSOR) for name in names))
        return self._made[names]

    def ports(self) -> tuple[Port, ...]:
        return tuple(Port(name, PortType.TENSOR) for name in self._names(self._default))


__all__ = ["MAX_PORTS", "CountedOutputs", "NamedInputs"]
