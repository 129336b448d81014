"""Layered layout of an acyclic graph: ranks by distance from the end, few crossings within them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import networkx as nx

Key: TypeAlias = Hashable

_SWEEPS = 8


class CancelledError(Exception):
    """Nobody waits for this layout any more."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Places in ranks and rows, and for each edge the places it passes on its way."""

    places: Mapping[int, tuple[float, float]]
    """x grows towards the loss; y is centred around 0; both count nodes."""
    routes: Mapping[tuple[int, int], tuple[tuple[float, float], ...]]


def arrange(
    ids: Iterable[int], edges: Iterable[tuple[int, int]], is_cancelled: Callable[[], bool] = lambda: False
) -> Layout:
    """Lay out a graph whose edges lead away from the loss. Raises CancelledError when `is_cancelled` says so."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(ids)
    graph.add_edges_from(edges)
    ranks = _ranks(graph)
    layered, chains = _with_waypoints(graph, ranks)
    columns = _ordered(layered, is_cancelled)
    rows = _rows(layered, columns)
    deepest = max(ranks.values(), default=0)
    place = {key: (float(deepest - rank), rows[key]) for rank, column in enumerate(columns) for key in column}
    return Layout(
        {node: place[node] for node in graph.nodes},
        {edge: tuple(place[key] for key in chain) for edge, chain in chains.items()},
    )


def _ranks(graph: nx.DiGraph[int]) -> dict[int, int]:
    """Longest way from the loss; what nothing else needs stands right behind what it feeds."""
    ranks = {node: rank for rank, generation in enumerate(nx.topological_generations(graph)) for node in generation}
    for node in graph.nodes:
        if graph.out_degree(node) == 0 and graph.in_degree(node):
            ranks[node] = 1 + max(ranks[before] for before in graph.predecessors(node))
    return ranks


def _with_waypoints(
    graph: nx.DiGraph[int], ranks: Mapping[int, int]
) -> tuple[dict[int, dict[Key, tuple[list[Key], list[Key]]]], dict[tuple[int, int], list[Key]]]:
    """Long edges cut into pieces of one rank. By rank and key: what is before and what is behind."""
    layers: dict[int, dict[Key, tuple[list[Key], list[Key]]]] = {}
    for node in graph.nodes:
        layers.setdefault(ranks[node], {})[node] = ([], [])
    chains: dict[tuple[int, int], list[Key]] = {}
    for start, end in graph.edges:
        chain: list[Key] = [start, *((start, end, rank) for rank in range(ranks[start] + 1, ranks[end])), end]
        chains[start, end] = chain
        for offset, (before, behind) in enumerate(pairwise(chain)):
            rank = ranks[start] + offset
            layers.setdefault(rank, {}).setdefault(before, ([], []))[1].append(behind)
            layers.setdefault(rank + 1, {}).setdefault(behind, ([], []))[0].append(before)
    return layers, chains


def _ordered(
    layers: Mapping[int, dict[Key, tuple[list[Key], list[Key]]]], is_cancelled: Callable[[], bool]
) -> list[list[Key]]:
    """The columns, each sorted by the mean place of its neighbours, back and forth."""
    columns = [list(layers[rank]) for rank in sorted(layers)]
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        order = range(1, len(columns)) if forward else range(len(columns) - 2, -1, -1)
        for rank in order:
            if is_cancelled():
                raise CancelledError
            fixed = columns[rank - 1 if forward else rank + 1]
            index = {key: float(place) for place, key in enumerate(fixed)}
            own = {key: float(place) for place, key in enumerate(columns[rank])}
            side = 0 if forward else 1
            layer = layers[rank]
            columns[rank].sort(key=lambda key: _mean([index[n] for n in layer[key][side]], own[key]))
    return columns


def _rows(layers: Mapping[int, dict[Key, tuple[list[Key], list[Key]]]], columns: list[list[Key]]) -> dict[Key, float]:
    """Heights: beside the neighbours towards the loss, never closer than one row, each column balanced."""
    rows: dict[Key, float] = {}
    for rank, column in enumerate(columns):
        wanted = [_median([rows[near] for near in _nearest(layers[rank][key][0])]) for key in column]
        placed = _spread(wanted)
        rows.update(zip(column, placed, strict=True))
    return rows


def _spread(wanted: list[float]) -> list[float]:
    """The nearest heights in the same order that keep a distance of one: blocks that touch are merged."""
    blocks: list[tuple[float, int]] = []
    for index, goal in enumerate(wanted):
        mean, size = goal - index, 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    flat = [mean for mean, size in blocks for _ in range(size)]
    return [mean + index for index, mean in enumerate(flat)]


def _nearest(neighbours: list[Key]) -> list[Key]:
    """Those that an edge of one rank leads to, so that a chain stays straight whatever passes it; else all."""
    return [key for key in neighbours if isinstance(key, int)] or neighbours


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else sum(ordered[middle - 1 : middle + 1]) / 2


def _mean(values: list[float], default: float) -> float:
    return sum(values) / len(values) if values else default
