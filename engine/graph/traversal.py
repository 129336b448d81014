"""Traversal of the autograd graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from engine.graph.node import Node


def reachable(roots: Iterable[tuple[Any, int]]) -> list[Node]:
    """Return all nodes reachable from `roots`, in the order of their creation."""
    visited: set[Node] = set()
    stack = [target for target, _ in roots]
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and node not in visited:
            visited.add(node)
            stack.extend([edge[0] for edge in node.edges if edge is not None])
    return sorted(visited, key=lambda node: node.sequence)


def leading_to(roots: Iterable[tuple[Any, int]], targets: set[int]) -> frozenset[int]:
    """Return the ids of all nodes and leaves from which a target is reachable, including the targets."""
    parents: dict[int, list[int]] = {}
    stack = [target for target, _ in roots]
    visited = set(map(id, stack))
    while stack:
        node = stack.pop()
        if not isinstance(node, Node):
            continue
        for edge in node.edges:
            if edge is not None:
                key = id(edge[0])
                parents.setdefault(key, []).append(id(node))
                if key not in visited:
                    visited.add(key)
                    stack.append(edge[0])
    useful, pending = set(targets), list(targets)
    while pending:
        for parent in parents.get(pending.pop(), ()):
            if parent not in useful:
                useful.add(parent)
                pending.append(parent)
    return frozenset(useful)


def leaf_edges(nodes: Iterable[Node]) -> Counter[int]:
    """Count the edges to each leaf, by id, from `nodes` and all nodes reachable from them."""
    below = reachable((node, 0) for node in nodes)
    return Counter(id(edge[0]) for node in below for edge in node.edges if edge and not isinstance(edge[0], Node))
