"""Node types of blocks: the ports inside a definition, and the instances."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import replace

from engine.registry import Parameter, Range
from studio.document.blocks import block_nodes
from studio.document.blocks.block_expansion import MAX_DEPTH
from studio.document.model import Block, Document, Json, Node, ParamRef, Wire
from studio.document.weight_sharing import params_of
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import NodeType, Port, PortType, Role

INSIDE = frozenset({Role.LAYER, Role.OPERATION, Role.BLOCK, Role.PORT, Role.UNKNOWN})
"""Roles of nodes that a definition may contain."""
REPEAT = Parameter(
    block_nodes.REPEAT,
    "int",
    default=1,
    range=Range(ge=1, le=block_nodes.MAX_REPEAT),
    help="number of copies in a row, each with separate weights",
)

_LISTED = 4
"""Number of node types that the summary of a block without a description lists."""


class BlockTypes:
    """Types of the instances of some definitions, made when they are first asked for."""

    def __init__(self, definitions: Mapping[str, Block], catalogue: Catalogue) -> None:
        self._definitions = definitions
        self._catalogue = catalogue
        self._made: dict[str, NodeType] = {}
        self._open: set[str] = set()

    def type_of(self, node: Node) -> NodeType | None:
        """The type of a node without wires; None if neither the catalogue nor a definition has it."""
        name = block_nodes.name_of(node)
        if name is not None:
            return self._instance(name)
        return PORT_TYPES.get(node.type) or self._catalogue.get(node.type)

    def _with_ports(self, node: Node) -> NodeType | None:
        """The type of a node with the ports and parameters that its parameters determine."""
        found = self.type_of(node)
        return found if found is None or found.adapt is None else found.adapt(found, node.params, frozenset())

    def _instance(self, name: str) -> NodeType | None:
        block = self._definitions.get(name)
        if block is None or name in self._open or len(self._open) == MAX_DEPTH:  # which the check reports
            return None
        if name not in self._made:
            self._open.add(name)
            self._made[name] = _instance_type(name, block, [*self._promoted(block), REPEAT], self._contents(block))
            self._open.discard(name)
        return self._made[name]

    def _promoted(self, block: Block) -> list[Parameter]:
        found = ((name, self._parameter(block, refs)) for name, refs in block.params.items())
        return [replace(parameter, name=name) for name, parameter in found if parameter is not None]

    def _contents(self, block: Block) -> str:
        """What a block without a description consists of."""
        if block.description.partition("\n")[0]:
            return ""
        inner = (self.type_of(node) for node in block.nodes.values() if node.type not in PORT_TYPES)
        titles = list(dict.fromkeys(kind.title for kind in inner if kind is not None))
        if not titles:
            return "A block without nodes."
        more = f" and {len(titles) - _LISTED} more" if len(titles) > _LISTED else ""
        return f"Contains {', '.join(titles[:_LISTED])}{more}."

    def _parameter(self, block: Block, refs: tuple[ParamRef, ...]) -> Parameter | None:
        """The parameter of the first inner node that has it, with the value in the definition as its default."""
        for ref in refs:
            node = block.nodes.get(ref.node)
            inner = None if node is None else self._with_ports(node)
            parameter = None if inner is None else inner.param(ref.param)
            if node is None or parameter is None:
                continue
            if ref.param in node.params:
                return replace(parameter, default=_value(node.params[ref.param]), from_input=None, from_training=False)
            return parameter
        return None


def _instance_type(name: str, block: Block, params: list[Parameter], contents: str) -> NodeType:
    summary, _, rest = block.description.partition("\n")
    return NodeType(
        key=block_nodes.type_of(name),
        title=name,
        category="block",
        group="This project",
        summary=summary or contents,
        help=rest.strip(),
        icon="block",
        tags=block.tags,
        inputs=tuple(_port(port, block.nodes[port]) for port in block_nodes.input_ports(block.nodes)),
        outputs=tuple(_port(port, block.nodes[port]) for port in block_nodes.output_ports(block.nodes)),
        params=tuple(params),
        role=Role.BLOCK,
    )


def _port(name: str, node: Node) -> Port:
    return Port(name, PortType.TENSOR, node.note)


def _value(value: Json) -> object:
    return tuple(value) if isinstance(value, list) else value


def _port_type(
    key: str, title: str, summary: str, icon: str, inputs: tuple[Port, ...] = (), outputs: tuple[Port, ...] = ()
) -> NodeType:
    return NodeType(
        key=key,
        title=title,
        category="block",
        group="Ports",
        summary=summary,
        help="The name of the node is the name of the port; its order among the ports is the order of the nodes.",
        icon=icon,
        inputs=inputs,
        outputs=outputs,
        params=(),
        tags=("port", "block"),
        role=Role.PORT,
    )


_GIVEN, _TAKEN = Port(block_nodes.GIVEN, PortType.TENSOR), Port(block_nodes.TAKEN, PortType.TENSOR)
PORT_TYPES = {
    block_nodes.INPUT: _port_type(
        block_nodes.INPUT, "Block input", "An input of the block.", "input", outputs=(_GIVEN,)
    ),
    block_nodes.OUTPUT: _port_type(
        block_nodes.OUTPUT, "Block output", "An output of the block.", "output", inputs=(_TAKEN,)
    ),
}
"""Types of the ports of a definition. They are not in the catalogue, because only a definition has them."""


def known_type(document: Document, catalogue: Catalogue, name: str) -> NodeType | None:
    """The type of a node of a document, with its ports; None if neither the catalogue nor a definition has it."""
    node = document.nodes[name]
    found = catalogue.get(node.type)
    if found is None:
        return BlockTypes(document.blocks, catalogue).type_of(node)
    if found.adapt is None:
        return found
    return found.adapt(found, params_of(document.nodes, name), _WIRED_INPUTS.of(document, name))


class WiredInputs:
    """The inputs of each node that have a wire. Caches the last result, as a drag asks for many nodes."""

    def __init__(self) -> None:
        self._last: tuple[tuple[Wire, ...], Mapping[str, Set[str]]] = ((), {})

    def of(self, document: Document, name: str) -> Set[str]:
        wires, found = self._last
        if wires is not document.wires:
            found = defaultdict[str, set[str]](set)
            for wire in document.wires:
                found[wire.target.node].add(wire.target.port)
            found = dict(found)
            self._last = (document.wires, found)
        return found.get(name, frozenset())


_WIRED_INPUTS = WiredInputs()
