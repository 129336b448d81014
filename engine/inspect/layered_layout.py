"""Layered graph layout from left to right: ranks, crossing reduction, and straight edges where possible.

Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures", 1981: longest-path ranks,
barycenter sweeps. Coordinates are the least-squares fit to the neighbors that keeps the order, which is isotonic
regression, solved exactly by pooling adjacent violators.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

from engine import lazy
from engine.inspect.layout_folding import Columns, Window, fold

if TYPE_CHECKING:
    import networkx as nx
else:
    nx = lazy.module("networkx")  # used only to arrange the nodes

_ORDER_SWEEPS = 8
_POSITION_SWEEPS = 12
_MAX_BENDS = 20_000

K = TypeVar("K", bound=Hashable)


class Bend(NamedTuple):
    """A dummy node where a long edge crosses a rank."""

    link: int
    rank: int


Key: TypeAlias = Hashable
"""A node or a dummy node."""


class CancelledError(Exception):
    """The layout was cancelled."""


@dataclass(frozen=True, slots=True)
class Link(Generic[K]):
    """An edge between two nodes, with the offsets of its ports below the top of each node."""

    source: K
    target: K
    source_y: float = 0.0
    target_y: float = 0.0
    room: float | None = None
    """Horizontal distance for a label between neighboring columns; that of `Spacing` if None."""


@dataclass(frozen=True, slots=True)
class Spacing:
    """Distances between nodes, in the unit of their sizes."""

    column: float
    """Horizontal distance of columns whose edges say nothing else."""
    row: float
    bend: float
    """Vertical distance between a crossing edge and its neighbors."""
    grid: float = 1.0
    """Positions are rounded to multiples of it."""
    narrow: float = math.inf
    """Minimum horizontal distance of columns; `column` if larger."""

    def snap(self, value: float) -> float:
        return float(round(value / self.grid) * self.grid)

    def snap_up(self, value: float) -> float:
        return float(math.ceil(value / self.grid) * self.grid)


@dataclass(frozen=True, slots=True)
class Layout(Generic[K]):
    """Top-left corners of the nodes, starting at (0, 0)."""

    positions: dict[K, tuple[float, float]]
    routes: dict[tuple[K, K], tuple[tuple[float, float], ...]]
    """For each long edge (source, target): the points where it crosses the columns in between, at their left sides."""


@dataclass(slots=True)
class _Layers:
    """Nodes and dummy nodes by rank, and the edges to the next rank."""

    rows: list[list[Key]]
    after: defaultdict[Key, list[tuple[Key, float]]] = field(default_factory=lambda: defaultdict(list))
    """Neighbors in the next rank, each with the vertical offset that makes the edge straight."""
    before: defaultdict[Key, list[tuple[Key, float]]] = field(default_factory=lambda: defaultdict(list))

    def link(self, a: Key, b: Key, lower: float) -> None:
        self.after[a].append((b, lower))
        self.before[b].append((a, -lower))


def arrange(
    sizes: Mapping[K, tuple[float, float]],
    links: Sequence[Link[K]],
    spacing: Spacing,
    cancelled: Callable[[], bool] = lambda: False,
) -> Layout[K]:
    """Lay out nodes of these sizes so that edges point right. Edges that close a cycle are ignored.

    Raises CancelledError soon after `cancelled()` becomes true.
    """
    layout: Layout[K] = Layout({}, {})
    top = 0.0
    for component in _components(sizes, links, spacing):
        component_layout, part = component.lay_out(cancelled), component.graph
        down = top - min(y for _, y in component_layout.positions.values())
        layout.positions.update({name: (x, y + down) for name, (x, y) in component_layout.positions.items()})
        layout.routes.update(
            {ends: tuple((x, y + down) for x, y in route) for ends, route in component_layout.routes.items()}
        )
        top = spacing.snap_up(max(layout.positions[name][1] + sizes[name][1] for name in part) + 2 * spacing.row)
    return layout


def arrange_in_rows(
    sizes: Mapping[K, tuple[float, float]],
    links: Sequence[Link[K]],
    spacing: Spacing,
    window: Window,
    before: Mapping[K, tuple[float, float]],
    cancelled: Callable[[], bool] = lambda: False,
) -> dict[K, tuple[float, float]]:
    """Positions like those of `arrange`, but a long graph is folded into rows that fit a window.

    Args:
        before: earlier positions. Nodes of a column keep their vertical order if no crossings result.
    """
    ordered = sorted(sizes, key=lambda name: before.get(name, (0.0, 0.0))[1])
    components = _components({name: sizes[name] for name in ordered}, links, spacing)
    columns = [component.columns(cancelled) for component in components]
    gap = spacing.snap_up(2 * spacing.row)
    positions = fold(columns, window, gap, before)
    return {name: (spacing.snap(x), spacing.snap(y)) for name, (x, y) in positions.items()}


def _components(
    sizes: Mapping[K, tuple[float, float]], links: Sequence[Link[K]], spacing: Spacing
) -> Iterator[_Component[K]]:
    """The connected components in the order of their first nodes."""
    graph = _acyclic(sizes, links)
    order = {name: index for index, name in enumerate(sizes)}
    edges: defaultdict[K, list[Link[K]]] = defaultdict(list)
    for link in links:
        if graph.has_edge(link.source, link.target):
            edges[link.source].append(link)
    for part in sorted(nx.weakly_connected_components(graph), key=lambda part: min(order[name] for name in part)):
        inner = [link for name in sorted(part, key=lambda name: order[name]) for link in edges[name]]
        yield _Component(graph.subgraph(part), sizes, inner, order, spacing)


def _acyclic(sizes: Mapping[K, object], links: Sequence[Link[K]]) -> nx.DiGraph[K]:
    graph: nx.DiGraph[K] = nx.DiGraph()
    graph.add_nodes_from(sizes)
    graph.add_edges_from((link.source, link.target) for link in links if link.source != link.target)
    path: set[K] = set()
    closing: list[tuple[K, K]] = []
    for source, target, kind in nx.dfs_labeled_edges(graph):
        if kind == "forward":
            path.add(target)
        elif kind == "reverse":
            path.discard(target)
        elif target in path:
            closing.append((source, target))
    graph.remove_edges_from(closing)
    return graph


@dataclass(frozen=True, slots=True)
class _Component(Generic[K]):
    """A connected component of the graph."""

    graph: nx.DiGraph[K]
    sizes: Mapping[K, tuple[float, float]]
    links: Sequence[Link[K]]
    order: Mapping[K, int]
    spacing: Spacing

    def columns(self, cancelled: Callable[[], bool]) -> Columns[K]:
        """The layout in columns, to be folded."""
        ranks, tops, lefts = self._coordinates(cancelled)
        widths = [0.0] * len(lefts)
        for node, rank in ranks.items():
            widths[rank] = max(widths[rank], self.sizes[node][0])
        return Columns(
            ranks,
            lefts,
            widths,
            {node: self.spacing.snap(tops[node]) for node in ranks},
            {node: self.sizes[node][1] for node in ranks},
            [(link.source, link.target) for link in self.links],
        )

    def _coordinates(self, cancelled: Callable[[], bool]) -> tuple[dict[K, int], dict[Key, float], list[float]]:
        """Ranks of nodes, top coordinates of nodes and dummy nodes, and left coordinates of ranks."""
        ranks = _ranks(self.graph)
        layers = _layers(ranks, self.links, self.order)
        _reduce_crossings(layers, cancelled)
        return ranks, self._tops(layers, cancelled), self._lefts(ranks, len(layers.rows))

    def lay_out(self, cancelled: Callable[[], bool]) -> Layout[K]:
        ranks, tops, lefts = self._coordinates(cancelled)
        return Layout(
            {node: (lefts[rank], self.spacing.snap(tops[node])) for node, rank in ranks.items()},
            {
                (link.source, link.target): tuple(
                    (lefts[rank], tops[bend])
                    for rank in range(ranks[link.source] + 1, ranks[link.target])
                    if (bend := Bend(number, rank)) in tops
                )
                for number, link in enumerate(self.links)
            },
        )

    def _lefts(self, ranks: Mapping[K, int], count: int) -> list[float]:
        widths, gaps = [0.0] * count, self._gaps(ranks, count)
        for node, rank in ranks.items():
            widths[rank] = max(widths[rank], self.sizes[node][0])
        lefts = [0.0]
        for width, gap in zip(widths[:-1], gaps, strict=False):
            lefts.append(lefts[-1] + self.spacing.snap_up(width + gap))
        return lefts

    def _gaps(self, ranks: Mapping[K, int], count: int) -> list[float]:
        """Distance of each rank from the next: space for the labels of the edges between them, and for their bends."""
        narrow = min(self.spacing.narrow, self.spacing.column)
        gaps = [narrow] * count
        sources: list[set[tuple[K, float]]] = [set() for _ in range(count)]
        for link in self.links:
            rank = ranks[link.source]
            sources[rank].add((link.source, link.source_y))
            if ranks[link.target] == rank + 1:
                gaps[rank] = max(gaps[rank], self.spacing.column if link.room is None else link.room)
        return [
            min(max(gap, narrow + self.spacing.bend * (len(outputs) - 1)), max(self.spacing.column, gap))
            for gap, outputs in zip(gaps, sources, strict=True)
        ]

    def _tops(self, layers: _Layers, cancelled: Callable[[], bool]) -> dict[Key, float]:
        """Top coordinate of every node and dummy node, with edges as straight as the order allows."""
        tops: dict[Key, float] = {}
        spaces: dict[Key, float] = {
            node: self.spacing.snap_up(self.sizes[node][1]) + self.spacing.row for node in self.graph
        }
        stacks = [self._stacked(row, spaces) for row in layers.rows]
        for row, stack in zip(layers.rows, stacks, strict=True):
            tops.update(zip(row, stack, strict=True))
        for sweep in range(_POSITION_SWEEPS):
            forward = sweep % 2 == 0
            linked = layers.before if forward else layers.after
            pairs = list(zip(layers.rows, stacks, strict=True))
            for row, stack in pairs if forward else pairs[::-1]:
                if cancelled():
                    raise CancelledError
                desired = [_desired_top(key, tops, linked) for key in row]
                weights = [1.0 if linked.get(key) else 0.1 for key in row]
                tops.update(zip(row, _fit_in_order(desired, weights, stack), strict=True))
        return tops

    def _stacked(self, row: Sequence[Key], spaces: Mapping[Key, float]) -> list[float]:
        """Top coordinates of a rank if its nodes are stacked as densely as possible.

        `spaces` are the heights of nodes with the spacing below them; all other keys are dummy nodes.
        """
        tops: list[float] = []
        y = 0.0
        for key in row:
            tops.append(y)
            y += spaces.get(key, self.spacing.bend)
        return tops


def _ranks(graph: nx.DiGraph[K]) -> dict[K, int]:
    """Rank by longest path from the left; nodes without inputs come directly before their consumers."""
    ranks: dict[K, int] = {}
    ordered = list(nx.topological_sort(graph))
    for name in ordered:
        ranks[name] = 1 + max((ranks[before] for before in graph.predecessors(name)), default=-1)
    for name in reversed(ordered):
        if graph.in_degree(name) == 0 and graph.out_degree(name) > 0:
            ranks[name] = min(ranks[after] for after in graph.successors(name)) - 1
    return ranks


def _layers(ranks: Mapping[K, int], links: Sequence[Link[K]], order: Mapping[K, int]) -> _Layers:
    rows: list[list[Key]] = [[] for _ in range(max(ranks.values()) + 1)]
    for name in sorted(ranks, key=lambda name: order[name]):
        rows[ranks[name]].append(name)
    layers = _Layers(rows)
    bends = sum(ranks[link.target] - ranks[link.source] - 1 for link in links)
    for number, link in enumerate(links):
        first, last = ranks[link.source], ranks[link.target]
        if last - first > 1 and bends > _MAX_BENDS:
            continue
        key: Key = link.source
        height = link.source_y
        for rank in range(first + 1, last):
            bend = Bend(number, rank)
            rows[rank].append(bend)
            layers.link(key, bend, height)
            key, height = bend, 0.0
        layers.link(key, link.target, height - link.target_y)
    return layers


# -- order within ranks -----------------------------------------------------------------------


def _reduce_crossings(layers: _Layers, cancelled: Callable[[], bool]) -> None:
    best, min_crossings = [list(row) for row in layers.rows], _crossings(layers)
    for sweep in range(_ORDER_SWEEPS):
        if min_crossings == 0:
            break
        forward = sweep % 2 == 0
        rows = layers.rows if forward else layers.rows[::-1]
        linked = layers.before if forward else layers.after
        for fixed, row in pairwise(rows):
            if cancelled():
                raise CancelledError
            _sort_by_barycenter(row, {key: float(index) for index, key in enumerate(fixed)}, linked)
        if (count := _crossings(layers)) < min_crossings:
            best, min_crossings = [list(row) for row in layers.rows], count
    layers.rows[:] = best


def _sort_by_barycenter(
    row: list[Key], positions: Mapping[Key, float], linked: Mapping[Key, list[tuple[Key, float]]]
) -> None:
    centers: dict[Key, float] = {}
    for index, key in enumerate(row):
        neighbors = linked.get(key)
        # Nodes without neighbors on that side keep their position.
        centers[key] = sum(positions[other] for other, _ in neighbors) / len(neighbors) if neighbors else float(index)
    row.sort(key=lambda key: centers[key])


def _crossings(layers: _Layers) -> int:
    """Number of edge crossings between adjacent ranks."""
    total = 0
    for row, following in pairwise(layers.rows):
        positions = {key: index for index, key in enumerate(following)}
        ends_above: list[int] = []
        for key in row:
            ends = sorted(positions[other] for other, _ in layers.after.get(key, ()))
            total += sum(len(ends_above) - bisect_right(ends_above, end) for end in ends)
            for end in ends:
                insort(ends_above, end)
    return total


# -- heights ----------------------------------------------------------------------------------


def _desired_top(key: Key, tops: Mapping[Key, float], linked: Mapping[Key, list[tuple[Key, float]]]) -> float:
    """Median of the positions where the node's edges are straight. Long edges count only if there are no others."""
    links = linked.get(key, ())
    direct = [link for link in links if not isinstance(link[0], Bend)]
    straight = sorted(tops[other] - lower for other, lower in direct or links)
    if not straight:
        return tops[key]
    middle = len(straight) // 2
    return straight[middle] if len(straight) % 2 else (straight[middle - 1] + straight[middle]) / 2


def _fit_in_order(desired: Sequence[float], weights: Sequence[float], stacked: Sequence[float]) -> list[float]:
    """Positions nearest to `desired` that are at least as far apart as in `stacked`."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, count
    for target, weight, offset in zip(desired, weights, stacked, strict=True):
        block = (target - offset, weight, 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, mass, number = blocks.pop()
            total = mass + block[1]
            block = ((mean * mass + block[0] * block[1]) / total, total, number + block[2])
        blocks.append(block)
    means = [mean for mean, _, number in blocks for _ in range(number)]
    return [mean + offset for mean, offset in zip(means, stacked, strict=True)]
