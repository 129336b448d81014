"""Blocks: definitions in `Document.blocks`, and the nodes that use them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from studio.document.graph_walk import walk
from studio.document.model import Block, Json, Node

INPUT, OUTPUT = "port.Input", "port.Output"
"""Types of the nodes that are a block's ports. Their names are the names of the ports."""
TAKEN, GIVEN = "input", "output"
"""The input of a "port.Output" node, and the output of a "port.Input" node."""
REPEAT = "repeat"
"""Parameter of every instance: how many copies follow each other, the first output to the first input."""
EACH = "each"
"""Key of a value per copy: {"each": [16, 32, 64]}."""
MAX_REPEAT = 1000

_PREFIX = "block."


def type_of(name: str) -> str:
    """The type of the nodes that use a block: "block.NAME"."""
    return _PREFIX + name


def name_of(node: Node) -> str | None:
    """The name of the block that a node uses; None for other nodes."""
    return node.type.removeprefix(_PREFIX) if node.type.startswith(_PREFIX) else None


def input_ports(nodes: Mapping[str, Node]) -> list[str]:
    """Names of the input ports of a definition, in order."""
    return [name for name, node in nodes.items() if node.type == INPUT]


def output_ports(nodes: Mapping[str, Node]) -> list[str]:
    """Names of the output ports of a definition, in order."""
    return [name for name, node in nodes.items() if node.type == OUTPUT]


def used_blocks(nodes: Mapping[str, Node]) -> Iterator[str]:
    """Names of the blocks that nodes use directly, each once."""
    yield from dict.fromkeys(name for node in nodes.values() if (name := name_of(node)) is not None)


def are_equal(one: Block, other: Block) -> bool:
    """Whether two definitions are equal, also in the order of their ports."""
    return one is other or (one == other and list(one.nodes) == list(other.nodes))


def reachable_blocks(blocks: Mapping[str, Block], nodes: Mapping[str, Node]) -> list[str]:
    """Names of the defined blocks that nodes use, directly or inside other blocks, nearest first."""

    def inner(name: str) -> list[str]:
        return [used for used in used_blocks(blocks[name].nodes) if used in blocks]

    return list(walk([name for name in used_blocks(nodes) if name in blocks], inner))


def is_recursive(blocks: Mapping[str, Block], name: str) -> bool:
    """Whether a block contains itself, directly or inside other blocks."""
    return name in reachable_blocks(blocks, blocks[name].nodes)


def path_and_outer(path: str) -> Iterator[str]:
    """A path and those of the instances that it is in: "encoder.3.fc", "encoder.3", "encoder"."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def renamed_path(path: str, names: Mapping[str, str]) -> str:
    """The path of a node after its outermost node or instance got a new name."""
    name, dot, rest = path.partition(".")
    return f"{names.get(name, name)}{dot}{rest}"


def repeat_count(node: Node) -> int:
    """How many copies an instance stands for; 1 if the parameter is invalid."""
    count = node.params.get(REPEAT, 1)
    return count if isinstance(count, int) and not isinstance(count, bool) and 1 <= count <= MAX_REPEAT else 1


def values_per_copy(value: Json) -> list[Json] | None:
    """The values of {"each": [...]}; None for any other value."""
    each = value.get(EACH) if isinstance(value, dict) and len(value) == 1 else None
    return cast("list[Json]", each) if isinstance(each, list) else None
