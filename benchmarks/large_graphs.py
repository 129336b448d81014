"""Large documents that check without errors: residual blocks in rows, as one graph or as definitions."""

from __future__ import annotations

from studio.document.blocks import block_nodes
from studio.document.model import Block, Document, Endpoint, Json, Node, Wire

WIDTH = 64
ROW = 48
"""Nodes in a row."""
_STEP_X, _STEP_Y = 240.0, 104.0
_HEAD = {
    "digits": Node("data.Digits"),
    "scale": Node("transforms.Normalize", {"std": 16.0}, at=(_STEP_X, 0.0)),
    "batches": Node("data.Batches", at=(2 * _STEP_X, 0.0)),
    "flatten": Node("nn.Flatten", at=(3 * _STEP_X, 0.0)),
}
_OUTSIDE = 7
"""Nodes before and after the residual blocks."""


def residual_graph(count: int) -> Document:
    """A chain of `count` nodes in rows, 5 wires for 4 nodes: linear, ReLU, linear, add with the input of the first."""
    nodes, wires = dict(_HEAD), _head_wires("linear_0")
    last = _residual_blocks(nodes, wires, (count - _OUTSIDE + 2) // 4, "flatten")
    _add_tail(nodes, wires, last)
    return Document(nodes, tuple(sorted(wires)))


def blocks_graph(count: int, size: int) -> Document:
    """A chain of `count` instances of different blocks of `size` nodes each."""
    nodes, definitions = dict(_HEAD), {}
    wires = _head_wires("stage_0")
    last = "flatten"
    for index in range(count):
        inner: dict[str, Node] = {"input": Node(block_nodes.INPUT, at=(-_STEP_X, 0.0))}
        inside = [_wire("input", block_nodes.GIVEN, "linear_0", "input")]
        end = _residual_blocks(inner, inside, (size - 2) // 4, "input")
        inner["output"] = Node(block_nodes.OUTPUT, at=(_STEP_X * ROW, 0.0))
        inside.append(_wire(end, "output", "output", block_nodes.TAKEN))
        definitions[f"stage{index}"] = Block(inner, tuple(sorted(inside)))
        name = f"stage_{index}"
        nodes[name] = Node(block_nodes.type_of(f"stage{index}"), at=_at(index, 10))
        if index:
            wires.append(_wire(last, "output", name, "input"))
        last = name
    _add_tail(nodes, wires, last)
    return Document(nodes, tuple(sorted(wires)), blocks=definitions)


def _residual_blocks(nodes: dict[str, Node], wires: list[Wire], count: int, first: str) -> str:
    """Add residual blocks after the node `first`, which is wired to the first of them. Returns the last node."""
    names: list[str] = []
    for index in range(count):
        linear, relu, second, add = f"linear_{index}", f"relu_{index}", f"second_{index}", f"add_{index}"
        skip = names[-1] if names else linear
        params: dict[str, Json] = {"out_features": WIDTH}
        for name, node in (
            (linear, Node("nn.Linear", params)),
            (relu, Node("nn.ReLU")),
            (second, Node("nn.Linear", params)),
            (add, Node("ops.add")),
        ):
            nodes[name] = Node(node.type, node.params, at=_at(len(names), ROW))
            names.append(name)
        if index:
            wires.append(_wire(skip, "output", linear, "input"))
        wires += [
            _wire(linear, "output", relu, "input"),
            _wire(relu, "output", second, "input"),
            _wire(second, "output", add, "x"),
            _wire(skip, "output", add, "y"),
        ]
    return names[-1] if names else first


def _head_wires(first: str) -> list[Wire]:
    return [
        _wire("digits", "samples", "scale", "samples"),
        _wire("scale", "samples", "batches", "samples"),
        _wire("batches", "input", "flatten", "input"),
        _wire("flatten", "output", first, "input"),
    ]


def _add_tail(nodes: dict[str, Node], wires: list[Wire], last: str) -> None:
    x, y = nodes[last].at
    tail = {
        "logits": Node("nn.Linear", {"out_features": 10}),
        "loss": Node("nn.CrossEntropyLoss"),
        "adam": Node("optim.Adam"),
    }
    for index, (name, node) in enumerate(tail.items()):
        nodes[name] = Node(node.type, node.params, at=(x + _STEP_X * (index + 1), y))
    wires += [
        _wire(last, "output", "logits", "input"),
        _wire("logits", "output", "loss", "input"),
        _wire("batches", "target", "loss", "target"),
        _wire("loss", "loss", "adam", "loss"),
    ]


def _at(index: int, row: int) -> tuple[float, float]:
    return index % row * _STEP_X, (index // row + 1) * _STEP_Y


def _wire(source: str, output: str, target: str, port: str) -> Wire:
    return Wire(Endpoint(source, output), Endpoint(target, port))
