"""Which nodes go into one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from engine.backend import CPU
from engine.compiler.graph import Graph, Node, Value
from engine.compiler.instruction import Scalar
from engine.compiler.kernels import Fused, Unlowered, lowers
from engine.compiler.kernels.program import program_of
from engine.compiler.kernels.schedule import scheduled
from engine.shape import count

Accepts: TypeAlias = Callable[[Sequence[Node]], bool]
"""Whether one kernel can compute these nodes, which stand in an order in which they can run."""

Step: TypeAlias = Node | Fused


def accepts(nodes: Sequence[Node]) -> bool:
    """Whether a kernel can be generated for these nodes together."""
    if not nodes[0].outputs or nodes[0].out.device is not CPU:
        return False
    if len(nodes) == 1:
        return lowers(nodes[0])
    used = {value for node in nodes for value in node.values}
    made = [value for node in nodes for value in node.outputs]
    fused = group_of(nodes, [value for value in made if value not in used] or made[-1:])
    try:
        scheduled(program_of(fused))
    except Unlowered:
        return False
    return True


class _Group:
    """Nodes that are to be one step."""

    def __init__(self, node: Node, place: int, fuses: bool) -> None:
        self.nodes = [node]
        self.first = self.last = place
        self.fuses = fuses


class _Grouping:
    """Groups as they grow. A group takes in a node only if no way between them leads through a third group."""

    def __init__(self, graph: Graph, accepts: Accepts) -> None:
        self.accepts = accepts
        self.place = {node: place for place, node in enumerate(graph.nodes)}
        self.group: dict[Node, _Group] = {}
        for node, place in self.place.items():
            self.group[node] = _Group(node, place, accepts([node]))
            if self.group[node].fuses:
                self._join(node)

    def _join(self, node: Node) -> None:
        """Takes `node` into the groups that compute its inputs, as far as they go together."""
        for producer in dict.fromkeys(value.producer for value in node.values):
            mine = self.group[node]
            other = mine if producer is None else self.group[producer]
            if other is mine or not other.fuses or self._between(other, mine):
                continue
            nodes = sorted([*other.nodes, *mine.nodes], key=self.place.__getitem__)
            if not self.accepts(nodes):
                continue
            other.nodes, other.first, other.last = nodes, min(other.first, mine.first), max(other.last, mine.last)
            for member in mine.nodes:
                self.group[member] = other

    def before(self, group: _Group) -> set[_Group]:
        """The groups whose results a group uses."""
        found = {self.group[v.producer] for node in group.nodes for v in node.values if v.producer is not None}
        return found - {group}

    def _between(self, earlier: _Group, later: _Group) -> bool:
        """Whether a way leads from one group to the other through a third, in either direction."""
        return self._leads(earlier, later) or self._leads(later, earlier)

    def _leads(self, start: _Group, end: _Group) -> bool:
        waiting = list(self.before(end) - {start})
        seen = set(waiting)
        while waiting:
            group = waiting.pop()
            if group is start:
                return True
            if group.last < start.first:
                continue
            new = self.before(group) - seen
            seen |= new
            waiting += new
        return False

    def ordered(self) -> list[_Group]:
        """The groups so that each comes after those that it uses."""
        order: dict[_Group, None] = {}
        for start in sorted(dict.fromkeys(self.group.values()), key=lambda one: one.last):
            waiting = [start]
            while waiting:
                group = waiting[-1]
                missing = [one for one in self.before(group) if one not in order]
                if missing and group not in order:
                    waiting += missing
                else:
                    order[waiting.pop()] = None
        return list(order)


def fuse(graph: Graph, accepts: Accepts) -> list[Step]:
    """The steps of a graph, in order: nodes that stay alone, and groups that become kernels."""
    grouping = _Grouping(graph, accepts)
    used = graph.uses()
    return [_step(group, used) for group in grouping.ordered()]


def _step(group: _Group, used: dict[Value, int]) -> Step:
    if not group.fuses or (len(group.nodes) == 1 and group.nodes[0].op.view):  # a view costs nothing, a kernel a copy
        return group.nodes[0]
    inside: dict[Value, int] = {}
    for value in (value for node in group.nodes for value in node.values):
        inside[value] = inside.get(value, 0) + 1
    needed = [v for node in group.nodes for v in node.outputs if used.get(v, 0) > inside.get(v, 0)]
    return group_of(group.nodes, needed)


def group_of(nodes: Sequence[Node], outputs: Sequence[Value]) -> Fused:
    """Nodes as one group, with the results that are needed outside."""
    made = {value for node in nodes for value in node.outputs}
    read = dict.fromkeys(value for node in nodes for value in node.values)
    scalars = tuple(dict.fromkeys(scalar for node in nodes for scalar in scalars_of(node)))
    shapes = [value.shape for value in (*made, *read)]
    space = max(shapes, key=lambda shape: (count(shape), len(shape)))
    return Fused(space, tuple(nodes), tuple(value for value in read if value not in made), scalars, tuple(outputs))


def scalars_of(node: Node) -> list[Scalar]:
    """The numbers of a node that may be others each time."""
    return [one for one in (*node.inputs, *(node.statics or {}).values()) if isinstance(one, Scalar)]


__all__ = ["Accepts", "Step", "accepts", "fuse", "group_of", "scalars_of"]
