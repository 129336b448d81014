"""Networks on any data, as chains of nodes, that mistakes are planted in."""

from __future__ import annotations

from collections.abc import Mapping

from studio.document.model import Document, Node
from studio.nodes.catalogue import catalogue
from studio.reference.mistakes.projects import document

Nodes = Mapping[str, str | Node]


def network(
    source: str | Node,
    layers: Nodes,
    loss: str | Node,
    *,
    transforms: Nodes | None = None,
    targets: Nodes | None = None,
    metrics: Nodes | None = None,
    optimizer: Node | None = None,
    batch_size: int = 64,
) -> Document:
    """Data, a chain of layers, a loss and an optimizer.

    Args:
        transforms: transforms between the source and the loader
        targets: nodes between the targets of the loader and the loss
        metrics: metrics of the last layer
    """
    nodes: dict[str, str | Node] = {"data": source, **(transforms or {})}
    wires, samples = chain("data.samples", transforms or {})
    nodes |= {"batches": Node("data.Batches", {"batch_size": batch_size}), **layers, **(targets or {}), "loss": loss}
    wires.append(f"{samples} -> batches.samples")
    of_layers, scores = chain("batches.input", layers)
    of_targets, target = chain("batches.target", targets or {})
    wires += [*of_layers, *of_targets, f"{scores} -> loss.input", f"{target} -> loss.target"]
    for name, metric in (metrics or {}).items():
        nodes[name] = metric
        wires += [f"{scores} -> {name}.input", f"{target} -> {name}.target"]
    nodes["adam"] = optimizer or Node("optim.Adam", {"lr": 0.01})
    return document(nodes, [*wires, "loss.loss -> adam.loss"])


def linear(size: int) -> Node:
    return Node("nn.Linear", {"out_features": size})


def chain(end: str, nodes: Nodes) -> tuple[list[str], str]:
    """The wires of a chain that begins at an output, and its last output."""
    wires: list[str] = []
    for name, node in nodes.items():
        node_type = catalogue()[node if isinstance(node, str) else node.type]
        wires.append(f"{end} -> {name}.{node_type.inputs[0].name}")
        end = f"{name}.{node_type.outputs[0].name}"
    return wires, end


__all__ = ["Nodes", "chain", "linear", "network"]
