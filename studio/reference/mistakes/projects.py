"""Sound projects that mistakes are planted in, written in few lines."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from studio.document.model import Document, Endpoint, Node, Wire


def end(text: str) -> Endpoint:
    return Endpoint(*text.split("."))


def wire(text: str) -> Wire:
    """From "a.output -> b.input"."""
    source, target = text.split(" -> ")
    return Wire(end(source), end(target))


def document(nodes: dict[str, str | Node], wires: Iterable[str] = ()) -> Document:
    """Nodes by name; a text stands for a node of that type."""
    made = {name: Node(node) if isinstance(node, str) else node for name, node in nodes.items()}
    return Document(nodes=made, wires=tuple(sorted(map(wire, wires))))


def digits(
    layers: dict[str, str | Node], *, last: str | None = None, wires: Iterable[str] = (), **more: str | Node
) -> Document:
    """The digits, a chain of layers behind them, cross entropy and Adam; `more` nodes and `wires` on top."""
    names = list(layers)
    nodes: dict[str, str | Node] = {
        "digits": "data.Digits",
        "scale": Node("transforms.Normalize", {"std": 16.0}),
        "batches": "data.Batches",
        **layers,
        "cross_entropy": "nn.CrossEntropyLoss",
        "adam": "optim.Adam",
        **more,
    }
    chain = [
        "digits.samples -> scale.samples",
        "scale.samples -> batches.samples",
        f"batches.input -> {names[0]}.{_input(layers[names[0]])}",
        *(f"{a}.output -> {b}.{_input(layers[b])}" for a, b in pairwise(names)),
        f"{last or names[-1]}.output -> cross_entropy.input",
        "batches.target -> cross_entropy.target",
        "cross_entropy.loss -> adam.loss",
    ]
    return document(nodes, [*chain, *wires])


def _input(layer: str | Node) -> str:
    kind = layer if isinstance(layer, str) else layer.type
    return "x" if kind.startswith("ops.") else "input"


__all__ = ["digits", "document", "end", "wire"]
