"""Groups of an autograd graph: blocks, their copies, and layers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from engine.inspect import AutogradGraph, GraphNode, memory_of

Key: TypeAlias = int | str
"""Id of a graph node, or path of a group."""

ROOT = ""
"""Path of the group of everything."""
SMALL = 60
"""At first, groups are unfolded up to this number of visible items."""


@dataclass(frozen=True, slots=True)
class Group:
    """Graph nodes of one canvas node, of a block, of a copy, or of all copies of a block."""

    path: str
    """Path on the canvas, such as "encoder.3.attention"."""
    parent: str
    members: tuple[int, ...]
    """All graph nodes within, in the order of the backward pass."""
    children: tuple[Key, ...]
    """Nodes and groups directly within."""
    copies: int
    """Number of equal copies, for the group of all copies of a block; else 1."""
    saved_bytes: int
    gradient_norm: float | None
    """Norm of the gradients that enter the group."""

    @property
    def title(self) -> str:
        """Name of the node; of equal copies, with their number: "encoder ×12"."""
        name = self.path.rpartition(".")[2]
        if name.isdecimal():
            name = ".".join(self.path.rsplit(".", 2)[-2:])
        return f"{name} ×{self.copies}" if self.copies > 1 else name


class GraphOutline:
    """The groups of a graph.

    Args:
        graph: the graph
        owners: id of a node → path of its canvas node
    """

    def __init__(self, graph: AutogradGraph, owners: Mapping[int, str]) -> None:
        self.graph = graph
        members: defaultdict[str, list[int]] = defaultdict(list)
        for node in graph.nodes:
            for path in _prefixes(owners.get(node.id, "")):
                members[path].append(node.id)
        # A layer of one op is that op, and an instance of one layer is that layer.
        kept = {path for path, ids in members.items() if path == ROOT or len(ids) > 1}
        self._chains = {
            node.id: tuple(path for path in _prefixes(owners.get(node.id, "")) if path in kept) for node in graph.nodes
        }
        children: defaultdict[str, dict[Key, None]] = defaultdict(dict)
        parents: dict[str, str] = {}
        for id, chain in self._chains.items():
            for outer, inner in zip(chain, (*chain[1:], id), strict=True):
                children[outer][inner] = None
                if isinstance(inner, str):
                    parents[inner] = outer
        incoming = self._incoming(kept)
        self.groups: dict[str, Group] = {}
        for path in kept:
            inside = [graph.nodes[id] for id in members[path]]
            self.groups[path] = Group(
                path, parents.get(path, ROOT), tuple(members[path]), tuple(children[path]),
                self._equal_copies(path, tuple(children[path]), members),
                memory_of(saved for node in inside for saved in node.saved),
                _joint_norm(graph.nodes[id] for id in incoming.get(path, ())),
            )  # fmt: skip

    def chain(self, id: int) -> tuple[str, ...]:
        """The groups around a node, from the outermost to that of its layer."""
        return self._chains[id]

    def visible(self, id: int, expanded: Collection[str], inside: str = ROOT) -> Key:
        """The item that shows a node: its outermost folded group within another one, or the node itself."""
        chain = self._chains[id]
        return next((path for path in chain[chain.index(inside) + 1 :] if path not in expanded), id)

    def visible_items(self, expanded: Collection[str]) -> list[Key]:
        """The items that are shown when these groups are expanded."""
        found: list[Key] = []
        stack: list[Key] = [ROOT]
        while stack:
            key = stack.pop()
            if isinstance(key, str) and (key == ROOT or key in expanded):
                stack += reversed(self.groups[key].children)
            else:
                found.append(key)
        return found

    def initial(self) -> frozenset[str]:
        """The groups that are expanded at first: outer ones before inner ones, as long as the graph stays small."""
        expanded: set[str] = set()
        count, level = len(self.groups[ROOT].children), [ROOT]
        while level:
            inner = [child for path in level for child in self.groups[path].children if isinstance(child, str)]
            # Equal copies stay folded: they look alike.
            inner = [path for path in inner if self.groups[path].copies == 1]
            count += sum(len(self.groups[path].children) - 1 for path in inner)
            if count > SMALL:
                break
            expanded.update(inner)
            level = inner
        return frozenset(expanded)

    def around(self, ids: Iterable[int]) -> frozenset[str]:
        """The groups to expand so that these nodes are visible."""
        return frozenset(path for id in ids for path in self._chains[id][1:])

    def search(self, text: str, owners: Mapping[int, str]) -> list[int]:
        """Nodes whose name, op, parameter, canvas node or source line contains all words of a text."""
        words = text.lower().split()
        return [node.id for node in self.graph.nodes if words and _matches(node, owners.get(node.id, ""), words)]

    def _incoming(self, kept: Collection[str]) -> dict[str, set[int]]:
        """Path of a group → its nodes that receive gradients from outside of it."""
        found: defaultdict[str, set[int]] = defaultdict(set)
        for path in self._chains[0] if self.graph.nodes else ():
            found[path].add(0)
        for edge in self.graph.edges:
            outside = set(self._chains[edge.source])
            for path in self._chains[edge.target]:
                if path not in outside:
                    found[path].add(edge.target)
        return {path: ids for path, ids in found.items() if path in kept}

    def _equal_copies(self, path: str, children: Sequence[Key], members: Mapping[str, list[int]]) -> int:
        """Number of copies of a repeated block if all are equal; else 1."""
        copies = [child for child in children if isinstance(child, str) and child.rpartition(".")[2].isdecimal()]
        if len(copies) < 2 or len(copies) < len(children):
            return 1
        first, *others = ([_shape_of(self.graph.nodes[id]) for id in members[copy]] for copy in copies)
        # The first and last copies may differ by an op at their ends, as a gradient that is not needed.
        return len(copies) if all(sorted(other) == sorted(first) for other in others) else 1


def _prefixes(path: str) -> list[str]:
    """The root, and the groups around and of a canvas node: "", "encoder", "encoder.3", "encoder.3.fc"."""
    parts = path.split(".") if path else []
    return [".".join(parts[:count]) for count in range(len(parts) + 1)]


def _shape_of(node: GraphNode) -> tuple[str, tuple[str, ...]]:
    return node.name, tuple(map(str, node.spec.shape))


def _joint_norm(nodes: Iterable[GraphNode]) -> float | None:
    norms = [node.gradient_norm for node in nodes if node.gradient_norm is not None]
    return math.hypot(*norms) if norms else None


def _matches(node: GraphNode, owner: str, words: Sequence[str]) -> bool:
    text = " ".join((node.name, node.op, node.leaf or "", owner, "" if node.where is None else f":{node.where[1]}"))
    lower = text.lower()
    return all(word in lower for word in words)
