"""Builds a graph along a chain: each node reads the output of the one before it."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from studio.document.blocks.block_library import shipped_blocks
from studio.document.blocks.library_copies import insert
from studio.document.edits import unique_name
from studio.document.model import Document, Endpoint, Json, Node, TrainingSettings, Wire
from studio.nodes.catalogue import catalogue


class GraphBuilder:
    """A project under construction. Ends of wires are texts such as "batches.target"."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.last = ""
        """The output that the next node reads."""
        self._document = Document()

    def add(self, type: str, /, name: str = "", **params: Json) -> GraphBuilder:
        """Add a node that reads the last output at its first input."""
        name = name or unique_name(self._document, type)
        self._put(name, Node(type, params))
        declared = catalogue()[type]
        if self.last and declared.inputs:
            self.wire(self.last, f"{name}.{declared.inputs[0].name}")
        if declared.outputs:
            self.last = f"{name}.{declared.outputs[0].name}"
        return self

    def block(self, block: str, /, **params: Json) -> GraphBuilder:
        """Add an instance of a shipped block."""
        entry = next(each for each in shipped_blocks() if each.name == block)
        self._document, name = insert(self._document, entry)
        self._put(name, replace(self._document.nodes[name], params=params))
        self.wire(self.last, f"{name}.input")
        self.last = f"{name}.output"
        return self

    def join(self, type: str, end: str, port: str, **params: Json) -> GraphBuilder:
        """Add a node that reads the last output and another one."""
        self.add(type, "", **params)
        return self.wire(end, f"{self.node}.{port}")

    def wire(self, source: str, target: str) -> GraphBuilder:
        wire = Wire(Endpoint(*source.split(".")), Endpoint(*target.split(".")))
        self._document = replace(self._document, wires=tuple(sorted({*self._document.wires, wire})))
        return self

    def change(self, name: str, **fields: object) -> GraphBuilder:
        """Change fields of a node, such as `frozen`."""
        self._put(name, replace(self._document.nodes[name], **fields))
        return self

    def activation(self) -> GraphBuilder:
        return self.add(f"nn.{self.random.choice(('ReLU', 'GELU', 'SiLU', 'LeakyReLU', 'ELU', 'Tanh', 'Mish'))}")

    def dropout(self) -> GraphBuilder:
        return self.add("nn.Dropout", p=self.random.choice((0.1, 0.2, 0.5))) if self.chance(0.3) else self

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    @property
    def node(self) -> str:
        """The node of the last output."""
        return self.last.partition(".")[0]

    def document(self, training: TrainingSettings) -> Document:
        return replace(self._document, training=training)

    def _put(self, name: str, node: Node) -> None:
        self._document = replace(self._document, nodes={**self._document.nodes, name: node})


__all__ = ["GraphBuilder"]
