"""The nodes of a `forward` method, in the order of its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from studio.document import node_names as naming
from studio.lowering.source_import.reading.constructor_reader import Layer
from studio.lowering.source_import.reading.module_source import NodeSource, Tensor, Value
from studio.lowering.source_import.reading.variable_names import is_call_of, name_of
from studio.nodes.python_node import PYTHON

Result: TypeAlias = Tensor | tuple[Tensor, ...] | None
"""A tensor, several outputs of one node, or None."""


class RecordedNodes:
    """Nodes by name.

    Args:
        layers: the layers that the constructor makes
        owners: layers whose first call is assigned to a variable of their name
    """

    def __init__(self, layers: Mapping[str, Layer], owners: frozenset[str]) -> None:
        self.nodes: dict[str, NodeSource] = {}
        self.recomputed = False
        """Whether the backward pass computes further nodes again."""
        self._layers = layers
        self._owners = owners

    def operation(
        self,
        key: str,
        inputs: Mapping[str, Tensor],
        arguments: Mapping[str, Value],
        line: int,
        ports: Sequence[str],
        variables: tuple[str, ...],
        output_names: tuple[str, ...] | None = None,
    ) -> Result:
        """Add a node without weights.

        Args:
            ports: names of its outputs
            variables: the variables that it is assigned to, if that happens once
            output_names: names of outputs that its type alone does not tell (default: all)
        """
        name = self._free_name(name_of(variables, ports), key)
        self.nodes[name] = NodeSource(
            name,
            key,
            dict(inputs),
            dict(arguments),
            line,
            line,
            is_operation=True,
            recomputed=self.recomputed,
            output_names=tuple(ports) if output_names is None else output_names,
        )
        return _outputs(name, len(ports))

    def call(
        self, layer: Layer, inputs: dict[str, Tensor], line: int, outputs: list[str], variables: tuple[str, ...]
    ) -> Result:
        """Add the node of a call of a layer. A second call of a layer is a node that shares its weights."""
        owner = self.nodes.get(layer.name)
        is_second = owner is not None or (layer.name in self._owners and not is_call_of(layer.name, variables))
        name = layer.name
        if is_second:
            ports = list(owner.output_names) if owner is not None and owner.output_names else outputs
            name = self._free_name(name_of(variables, ports), layer.target)
        known = tuple(outputs) if layer.target == PYTHON else ()
        prefix = f"{layer.name}_"
        has_names = layer.is_instance and len(variables) > 1 and all(each.startswith(prefix) for each in variables)
        self.nodes[name] = NodeSource(
            name,
            layer.target,
            inputs,
            {} if is_second else layer.arguments,
            line,
            line if is_second else layer.line,
            is_operation=is_second,
            is_instance=layer.is_instance,
            copies=None if is_second else layer.copies,
            frozen=layer.frozen and not is_second,
            recomputed=self.recomputed,
            shares=layer.name if is_second else layer.tied_to,
            output_names=tuple(each.removeprefix(prefix) for each in variables) if has_names else known,
        )
        return _outputs(name, len(outputs))

    def _free_name(self, name: str | None, key: str) -> str:
        """A name for an operation; a text that is no identifier without a free one."""
        is_free = name is not None and name not in self.nodes and name not in self._layers
        return name if name is not None and is_free and naming.problem(name) is None else f"{key} {len(self.nodes)}"


def _outputs(name: str, count: int) -> Result:
    tensors = tuple(Tensor(name, index) for index in range(count))
    return tensors[0] if count == 1 else tensors


__all__ = ["RecordedNodes", "Result"]
