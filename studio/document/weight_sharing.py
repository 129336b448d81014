"""Nodes that use the weights of another node of their graph, their owner.

A node of the owner's type uses its parameters too, so that both are one layer that is called twice. `Node.params` of
such a node are empty. Nodes of two types with a weight matrix are tied: they share the matrix alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from studio.document.document_errors import EditError
from studio.document.model import Document, Json, Node

LAYERS = ("nn.", "block.", "studio.Python")
"""Beginnings of the types that can have weights."""

MATRICES: Mapping[str, tuple[str, str]] = {
    "nn.Embedding": ("num_embeddings", "embedding_dim"),
    "nn.Linear": ("out_features", "in_features"),
}
"""Types that can be tied to each other: the parameters that determine the rows and columns of their weight matrix."""


def owner_of(nodes: Mapping[str, Node], name: str) -> str:
    """The node whose weights a node uses: itself if it shares none, or if its owner is missing or in a cycle."""
    seen = [name]
    while (owner := nodes[seen[-1]].shares) and owner in nodes:
        if owner in seen:
            return name
        seen.append(owner)
    return seen[-1]


def is_same_layer(nodes: Mapping[str, Node], name: str) -> bool:
    """Whether a node is another call of its owner, of the same type."""
    owner = owner_of(nodes, name)
    return owner != name and nodes[owner].type == nodes[name].type


def layer_of(nodes: Mapping[str, Node], name: str) -> str:
    """The node that has the parameters of a node: its owner if that has the same type, otherwise itself."""
    return owner_of(nodes, name) if is_same_layer(nodes, name) else name


def params_of(nodes: Mapping[str, Node], name: str) -> Mapping[str, Json]:
    """The parameters of the layer that a node calls."""
    return nodes[layer_of(nodes, name) if nodes[name].shares else name].params


def tied_to(nodes: Mapping[str, Node], name: str) -> str | None:
    """The owner of a node that shares its weight matrix alone."""
    owner = owner_of(nodes, name)
    return owner if owner != name and nodes[owner].type != nodes[name].type else None


def tied_sizes(nodes: Mapping[str, Node], name: str, values: Mapping[str, Json]) -> dict[str, Json]:
    """Sizes of a tied node, from the arguments of its owner."""
    owner = tied_to(nodes, name)
    if owner is None or not can_share(nodes[name].type, nodes[owner].type):
        return {}
    pairs = zip(MATRICES[nodes[name].type], MATRICES[nodes[owner].type], strict=True)
    return {own: values[other] for own, other in pairs if other in values}


def users_of(nodes: Mapping[str, Node], name: str) -> list[str]:
    """The other nodes that use the same weights as a node, with their owner."""
    if not any(node.shares for node in nodes.values()):
        return []
    owner = owner_of(nodes, name)
    return [other for other in nodes if other != name and owner_of(nodes, other) == owner]


def calls_of(nodes: Mapping[str, Node], name: str) -> list[str]:
    """The nodes that call the same layer as a node, if there are several."""
    layer = layer_of(nodes, name)
    users = users_of(nodes, layer)
    return [layer, *(user for user in users if nodes[user].type == nodes[layer].type)] if users else []


def can_share(key: str, owner_key: str) -> bool:
    """Whether a node of one type can use the weights of another."""
    return (key == owner_key and key.startswith(LAYERS)) or (key in MATRICES and owner_key in MATRICES)


# -- edits ------------------------------------------------------------------------------------


def share(document: Document, names: Iterable[str], owner: str) -> Document:
    """Let nodes use the weights of another one, and its parameters if they have its type."""
    nodes = document.nodes
    listed = list(names)
    if unknown := [name for name in (*listed, owner) if name not in nodes]:
        raise EditError(f"The project has no node {unknown[0]!r}.")
    root = owner_of(nodes, owner)
    changes: dict[str, Node] = {}
    for name in listed:
        node = nodes[name]
        if name == root or node.shares == root:
            continue
        if not can_share(node.type, nodes[root].type):
            raise EditError(
                f"{name} cannot use the weights of {root}: they have the types {node.type} and {nodes[root].type}. "
                "Choose a node of the same type."
            )
        is_same = node.type == nodes[root].type
        if is_same:
            node = replace(node, params={}, frozen=nodes[root].frozen)
        changes[name] = replace(node, shares=root)
    for name in nodes if changes else ():
        if name not in changes and name not in (root, owner) and owner_of(nodes, name) in changes:
            is_same = nodes[name].type == nodes[root].type
            changes[name] = replace(nodes[name], shares=root, params={} if is_same else nodes[name].params)
    return replace(document, nodes={**nodes, **changes}) if changes else document


def unshare(document: Document, names: Iterable[str]) -> Document:
    """Give nodes separate weights, with the parameters that they had."""
    nodes = dict(document.nodes)
    changes = {name: _separate(nodes, name) for name in names if name in nodes and nodes[name].shares}
    return replace(document, nodes={**nodes, **changes}) if changes else document


def separated(nodes: Mapping[str, Node], gone: Collection[str]) -> dict[str, Node]:
    """The nodes, without sharing between `gone` and the others.

    If an owner is gone, the first node of its type that remains becomes the owner of the others.
    """
    if not any(node.shares for node in nodes.values()):
        return dict(nodes)
    changed: dict[str, Node] = {name: _separate(nodes, name) for name in gone if nodes[name].shares}
    for owner in gone:
        users = [name for name in nodes if name not in gone and owner_of(nodes, name) == owner]
        same = [name for name in users if nodes[name].type == nodes[owner].type]
        heir = next(iter(same or users), None)
        for name in users:
            node = _separate(nodes, name) if name == heir else replace(nodes[name], shares=heir or "")
            is_same = heir is not None and name != heir and node.type == nodes[heir].type
            changed[name] = replace(node, params={}) if is_same else node
    return {name: changed.get(name, node) for name, node in nodes.items()}


def with_renamed_owner(node: Node, renamed: Mapping[str, str]) -> Node:
    """The node, with its owner under a new name."""
    owner = renamed.get(node.shares, node.shares) if node.shares else ""
    return node if owner == node.shares else replace(node, shares=owner)


def check_together(nodes: Mapping[str, Node], chosen: Collection[str]) -> None:
    """Raise EditError if some nodes share weights with nodes that are not among them."""
    for name in nodes:
        owner = owner_of(nodes, name)
        if owner != name and (name in chosen) != (owner in chosen):
            raise EditError(
                f"{name} uses the weights of {owner}, which is possible in one graph only. Select both, or use "
                f"separate weights for {name}."
            )


def _separate(nodes: Mapping[str, Node], name: str) -> Node:
    return replace(nodes[name], shares="", params=nodes[layer_of(nodes, name)].params)
