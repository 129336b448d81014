"""Fusion: decides which nodes share a kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from engine.compiler.instruction import Scalar
from engine.compiler.ir import IRGraph, IRNode, IRValue, PlanUnsupported
from engine.compiler.kernels import FusedGroup
from engine.shape import count

PlanStep: TypeAlias = IRNode | FusedGroup

MAX_SEARCHED_GROUPS = 500
"""Groups that are searched for a path between two groups; beyond, the groups are not merged."""


class Candidate(Protocol):
    """Checks whether one kernel can compute some nodes."""

    def try_add(self, nodes: Sequence[IRNode]) -> bool:
        """Adds nodes if one kernel can compute all. They are in order and may use results of the others."""
        ...


class _Group:
    """Nodes of one step, in order."""

    def __init__(self, node: IRNode, position: int, candidate: Candidate | None) -> None:
        self.nodes = [node]
        self.latest = position
        """Index of the latest node in this group and in all groups that it depends on."""
        self.candidate = candidate
        """None if no kernel can compute the node."""
        self.incompatible: set[_Group] = set()
        """Groups that cannot be merged with this one."""


class _Grouping:
    """Grows groups. Two groups are merged only if no path between them leads through a third group."""

    def __init__(self, graph: IRGraph, make_candidate: Callable[[IRNode], Candidate | None]) -> None:
        self.group: dict[IRNode, _Group] = {}
        self.position = {node: position for position, node in enumerate(graph.nodes)}
        self.users: dict[IRNode, list[IRNode]] = {node: [] for node in graph.nodes}
        """Node → nodes that use its results."""
        for position, node in enumerate(graph.nodes):
            self.group[node] = group = _Group(node, position, make_candidate(node))
            for producer in {value.producer for value in node.values}:
                if producer is not None:
                    self.users[producer].append(node)
            if group.candidate is not None:
                self._merge_with_producers(node)

    def _merge_with_producers(self, node: IRNode) -> None:
        """Merges `node` into the groups that compute its inputs, where possible."""
        for producer in dict.fromkeys(value.producer for value in node.values):
            if node.recomputation and producer is not None and producer.recomputation != node.recomputation:
                continue  # a recomputed node must not run together with the first computation
            mine = self.group[node]
            other = mine if producer is None else self.group[producer]
            if (
                other is mine
                or other.candidate is None
                or mine in other.incompatible
                or self._has_indirect_path(other, mine)
            ):
                continue
            if not other.candidate.try_add(mine.nodes):
                other.incompatible.add(mine)
                continue
            other.nodes += mine.nodes
            other.incompatible |= mine.incompatible
            for member in mine.nodes:
                self.group[member] = other
            self._update_latest(other, max(other.latest, mine.latest))

    def _update_latest(self, group: _Group, latest: int) -> None:
        """Updates `latest` of a group and of all groups that depend on it."""
        waiting = [group]
        while waiting:
            one = waiting.pop()
            if one.latest < latest or one is group:
                one.latest = latest
                waiting += {self.group[user] for node in one.nodes for user in self.users[node]} - {one, group}

    def inputs_of(self, group: _Group) -> set[_Group]:
        """The groups whose results a group uses."""
        found = {self.group[v.producer] for node in group.nodes for v in node.values if v.producer is not None}
        return found - {group}

    def _has_indirect_path(self, start: _Group, end: _Group) -> bool:
        """Whether a path leads from one group to another through a third group, or may do so."""
        waiting = list(self.inputs_of(end) - {start})
        visited = set(waiting)
        while waiting:
            group = waiting.pop()
            if group is start or len(visited) > MAX_SEARCHED_GROUPS:
                return True
            if group.latest < self.position[start.nodes[-1]]:  # it cannot depend on a later node
                continue
            new = self.inputs_of(group) - visited
            visited |= new
            waiting += new
        return False

    def sorted_groups(self) -> list[_Group]:
        """The groups in topological order."""
        order: dict[_Group, None] = {}
        for start in sorted(dict.fromkeys(self.group.values()), key=lambda one: self.position[one.nodes[-1]]):
            waiting = [start]
            while waiting:
                group = waiting[-1]
                missing = [one for one in self.inputs_of(group) if one not in order]
                if len(waiting) > len(self.position) ** 2:
                    raise PlanUnsupported("groups of nodes depend on each other")
                if missing and group not in order:
                    waiting += missing
                else:
                    order[waiting.pop()] = None
        return list(order)


def fuse_nodes(graph: IRGraph, make_candidate: Callable[[IRNode], Candidate | None]) -> list[PlanStep]:
    """The steps of a graph in order: single nodes, and groups that become kernels.

    Args:
        begin: the candidate for one node; None if no kernel can compute it
    """
    grouping = _Grouping(graph, make_candidate)
    used = graph.uses()
    return [_step(group, used) for group in grouping.sorted_groups()]


def _step(group: _Group, used: dict[IRValue, int]) -> PlanStep:
    if group.candidate is None or (
        len(group.nodes) == 1 and group.nodes[0].op.view
    ):  # a view costs nothing, a kernel would copy
        return group.nodes[0]
    inside: dict[IRValue, int] = {}
    for value in (value for node in group.nodes for value in node.values):
        inside[value] = inside.get(value, 0) + 1
    needed = [v for node in group.nodes for v in node.outputs if used.get(v, 0) > inside.get(v, 0)]
    return make_group(group.nodes, needed)


def make_group(nodes: Sequence[IRNode], outputs: Sequence[IRValue]) -> FusedGroup:
    """Creates a group from nodes and the results that are needed outside."""
    made = {value for node in nodes for value in node.outputs}
    read = dict.fromkeys(value for node in nodes for value in node.values)
    scalars = tuple(dict.fromkeys(scalar for node in nodes for scalar in scalars_of(node)))
    shapes = [value.shape for value in (*made, *read)]
    space = max(shapes, key=lambda shape: (count(shape), len(shape)))
    return FusedGroup(space, tuple(nodes), tuple(value for value in read if value not in made), scalars, tuple(outputs))


def scalars_of(node: IRNode) -> list[Scalar]:
    """The numbers of a node that vary between calls."""
    return [one for one in (*node.inputs, *(node.statics or {}).values()) if isinstance(one, Scalar)]


__all__ = ["Candidate", "PlanStep", "fuse_nodes", "make_group", "scalars_of"]
