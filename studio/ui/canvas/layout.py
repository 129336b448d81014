"""Layered layout from left to right: ranks, an order with few crossings, and straight wires where they fit.

Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures", 1981: longest-path
ranks, barycentre sweeps. Coordinates are the least-squares fit to the neighbours that keeps the order, which is
isotonic regression and is solved exactly by pooling adjacent violators.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import networkx as nx

from studio.ui.canvas.geometry import snap, snap_up

COLUMN_GAP = 64.0
ROW_GAP = 32.0
_ORDER_SWEEPS = 8
_PLACE_SWEEPS = 12
_MOST_BENDS = 20_000

Key = str | tuple[int, int]
"""A node by name, or a bend: the place where a long wire passes a rank."""


class CancelledError(Exception):
    """The layout was given up because nobody waits for it any more."""


@dataclass(frozen=True, slots=True)
class Link:
    """A wire between two nodes, with the heights of its ports."""

    source: str
    target: str
    source_y: float = 0.0
    target_y: float = 0.0


@dataclass(slots=True)
class _Layers:
    """Nodes and bends by rank, and who is linked to whom in the next rank."""

    rows: list[list[Key]]
    after: defaultdict[Key, list[tuple[Key, float]]] = field(default_factory=lambda: defaultdict(list))
    """Neighbours in the next rank, with how much lower they have to be for a straight wire."""
    before: defaultdict[Key, list[tuple[Key, float]]] = field(default_factory=lambda: defaultdict(list))

    def link(self, a: Key, b: Key, lower: float) -> None:
        self.after[a].append((b, lower))
        self.before[b].append((a, -lower))


def layered(
    sizes: Mapping[str, tuple[float, float]],
    links: Sequence[Link],
    cancelled: Callable[[], bool] = lambda: False,
) -> dict[str, tuple[float, float]]:
    """Top left corners by name, on the grid, beginning at (0, 0). Wires that close a circle are left out.

    Raises CancelledError soon after `cancelled()` is true.
    """
    graph = _acyclic(sizes, links)
    places: dict[str, tuple[float, float]] = {}
    top = 0.0
    order = {name: index for index, name in enumerate(sizes)}
    parts = sorted(nx.weakly_connected_components(graph), key=lambda part: min(order[name] for name in part))
    for part in parts:
        inner = [link for link in links if link.source in part and graph.has_edge(link.source, link.target)]
        placed = _component(graph.subgraph(part), sizes, inner, order, cancelled)
        lowest = min(y for _, y in placed.values())
        places.update({name: (x, y - lowest + top) for name, (x, y) in placed.items()})
        top = snap_up(max(places[name][1] + sizes[name][1] for name in part) + 2 * ROW_GAP)
    return places


def _acyclic(sizes: Mapping[str, object], links: Sequence[Link]) -> nx.DiGraph[str]:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(sizes)
    graph.add_edges_from((link.source, link.target) for link in links if link.source != link.target)
    while not nx.is_directed_acyclic_graph(graph):
        graph.remove_edge(*nx.find_cycle(graph)[-1][:2])
    return graph


def _component(
    graph: nx.DiGraph[str],
    sizes: Mapping[str, tuple[float, float]],
    links: Sequence[Link],
    order: Mapping[str, int],
    cancelled: Callable[[], bool],
) -> dict[str, tuple[float, float]]:
    ranks = _ranks(graph)
    layers = _layers(ranks, links, order)
    _reduce_crossings(layers, cancelled)
    heights = {name: size[1] for name, size in sizes.items()}
    rows = _heights(layers, heights, cancelled)
    places: dict[str, tuple[float, float]] = {}
    x = 0.0
    for row in layers.rows:
        names = [key for key in row if isinstance(key, str)]
        places.update({name: (x, snap(rows[name])) for name in names})
        x += snap_up(max((sizes[name][0] for name in names), default=0.0)) + COLUMN_GAP
    return places


def _ranks(graph: nx.DiGraph[str]) -> dict[str, int]:
    """Longest path from the left; what nothing feeds stands right before what it feeds."""
    ranks: dict[str, int] = {}
    ordered = list(nx.topological_sort(graph))
    for name in ordered:
        ranks[name] = 1 + max((ranks[before] for before in graph.predecessors(name)), default=-1)
    for name in reversed(ordered):
        if graph.in_degree(name) == 0 and graph.out_degree(name) > 0:
            ranks[name] = min(ranks[after] for after in graph.successors(name)) - 1
    return ranks


def _layers(ranks: Mapping[str, int], links: Sequence[Link], order: Mapping[str, int]) -> _Layers:
    rows: list[list[Key]] = [[] for _ in range(max(ranks.values()) + 1)]
    for name in sorted(ranks, key=lambda name: order[name]):
        rows[ranks[name]].append(name)
    layers = _Layers(rows)
    bends = sum(ranks[link.target] - ranks[link.source] - 1 for link in links)
    for number, link in enumerate(links):
        first, last = ranks[link.source], ranks[link.target]
        if last - first > 1 and bends > _MOST_BENDS:
            continue
        key: Key = link.source
        height = link.source_y
        for rank in range(first + 1, last):
            bend = (number, rank)
            rows[rank].append(bend)
            layers.link(key, bend, height)
            key, height = bend, 0.0
        layers.link(key, link.target, height - link.target_y)
    return layers


# -- order within ranks -----------------------------------------------------------------------


def _reduce_crossings(layers: _Layers, cancelled: Callable[[], bool]) -> None:
    best, fewest = [list(row) for row in layers.rows], _crossings(layers)
    for sweep in range(_ORDER_SWEEPS):
        if fewest == 0:
            break
        forward = sweep % 2 == 0
        rows = layers.rows if forward else layers.rows[::-1]
        linked = layers.before if forward else layers.after
        for fixed, row in pairwise(rows):
            if cancelled():
                raise CancelledError
            _sort_by_barycentre(row, {key: float(index) for index, key in enumerate(fixed)}, linked)
        if (count := _crossings(layers)) < fewest:
            best, fewest = [list(row) for row in layers.rows], count
    layers.rows[:] = best


def _sort_by_barycentre(
    row: list[Key], places: Mapping[Key, float], linked: Mapping[Key, list[tuple[Key, float]]]
) -> None:
    centres: dict[Key, float] = {}
    for index, key in enumerate(row):
        neighbours = linked.get(key)
        # What has no neighbour on that side keeps its place.
        centres[key] = sum(places[other] for other, _ in neighbours) / len(neighbours) if neighbours else float(index)
    row.sort(key=lambda key: centres[key])


def _crossings(layers: _Layers) -> int:
    """How many pairs of wires cross between neighbouring ranks."""
    total = 0
    for row, following in pairwise(layers.rows):
        places = {key: index for index, key in enumerate(following)}
        seen: list[int] = []
        for key in row:
            ends = sorted(places[other] for other, _ in layers.after.get(key, ()))
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


# -- heights ----------------------------------------------------------------------------------


def _heights(layers: _Layers, heights: Mapping[str, float], cancelled: Callable[[], bool]) -> dict[Key, float]:
    """The top of every node and bend, such that wires are as straight as the order allows."""
    tops: dict[Key, float] = {}
    for row in layers.rows:
        tops.update(zip(row, _stacked(row, heights), strict=True))
    for sweep in range(_PLACE_SWEEPS):
        forward = sweep % 2 == 0
        linked = layers.before if forward else layers.after
        for row in layers.rows if forward else layers.rows[::-1]:
            if cancelled():
                raise CancelledError
            wanted = [_wanted(key, tops, linked) for key in row]
            weights = [1.0 if linked.get(key) else 0.1 for key in row]
            tops.update(zip(row, _fitted(wanted, weights, _stacked(row, heights)), strict=True))
    return tops


def _stacked(row: Sequence[Key], heights: Mapping[str, float]) -> list[float]:
    tops: list[float] = []
    y = 0.0
    for key in row:
        tops.append(y)
        y += snap_up(heights[key]) + ROW_GAP if isinstance(key, str) else ROW_GAP / 2
    return tops


def _wanted(key: Key, tops: Mapping[Key, float], linked: Mapping[Key, list[tuple[Key, float]]]) -> float:
    """Median of the heights at which its wires would be straight; long wires, which bend anyway, count only alone."""
    links = linked.get(key, ())
    direct = [link for link in links if isinstance(link[0], str)]
    straight = sorted(tops[other] - lower for other, lower in direct or links)
    if not straight:
        return tops[key]
    middle = len(straight) // 2
    return straight[middle] if len(straight) % 2 else (straight[middle - 1] + straight[middle]) / 2


def _fitted(wanted: Sequence[float], weights: Sequence[float], stacked: Sequence[float]) -> list[float]:
    """The heights nearest to `wanted` that are at least as far apart as `stacked` ones."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    for want, weight, offset in zip(wanted, weights, stacked, strict=True):
        block = (want - offset, weight, 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, mass, number = blocks.pop()
            total = mass + block[1]
            block = ((mean * mass + block[0] * block[1]) / total, total, number + block[2])
        blocks.append(block)
    means = [mean for mean, _, number in blocks for _ in range(number)]
    return [mean + offset for mean, offset in zip(means, stacked, strict=True)]
