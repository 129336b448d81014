"""Layout of the visible items of an autograd graph: folded groups, nodes, and frames around expanded groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from engine.inspect.layered_layout import Link, Spacing, arrange
from studio.training.autograd.graph_outline import ROOT, GraphOutline, Key

WIDTH, HEIGHT = 148.0, 46.0
"""Size of a node and of a folded group."""
PADDING, TITLE = 12.0, 26.0
"""Distances between a frame and what it contains; above there is its title."""
_SPACING = Spacing(column=36, row=12, bend=18)
_MAX_KEPT = 100_000
"""Positions of earlier layouts that are kept."""

Point: TypeAlias = tuple[float, float]
Ends: TypeAlias = tuple[Key, Key]
"""The visible items of an edge, in the order of the forward pass."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Frame around the items of an expanded group."""

    path: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Positions of the visible items, with edges from left to right as in the forward pass."""

    positions: dict[Key, Point] = field(default_factory=dict)
    """Top left corners of nodes and folded groups."""
    frames: tuple[Frame, ...] = ()
    """Outer ones before inner ones."""
    edges: dict[Ends, tuple[Point, ...]] = field(default_factory=dict)
    """Points that an edge passes, with its ends."""
    width: float = 0.0
    height: float = 0.0


class GraphArranger:
    """Lays out one graph. Groups are laid out one by one, so that expanding one leaves the inside of others alone."""

    def __init__(self, outline: GraphOutline) -> None:
        self._outline = outline
        self._done: dict[tuple[str, frozenset[str]], Arrangement] = {}
        self._kept = 0
        """Number of positions in `_done`."""
        self._edges: defaultdict[str, list[tuple[int, int, Key, Key]]] = defaultdict(list)
        """Innermost group around both ends → target and source of an edge, and the children that contain them."""
        for edge in outline.graph.edges:
            target, source = outline.chain(edge.target), outline.chain(edge.source)
            common = sum(1 for a, b in zip(target, source, strict=False) if a == b)
            self._edges[target[common - 1]].append(
                (edge.target, edge.source, _child(target, common, edge.target), _child(source, common, edge.source))
            )

    def arrange(self, expanded: frozenset[str], cancelled: Callable[[], bool] = lambda: False) -> Arrangement:
        """Lay out the items that are visible when these groups are expanded.

        Raises CancelledError soon after `cancelled()` becomes true.
        """
        if not self._outline.graph.nodes:
            return Arrangement()
        return self._of_group(ROOT, expanded, cancelled)

    def _of_group(self, path: str, expanded: frozenset[str], cancelled: Callable[[], bool]) -> Arrangement:
        inner = frozenset(each for each in expanded if not path or each.startswith(f"{path}."))
        found = self._done.get((path, inner))
        if found is None:
            found = self._computed(path, inner, cancelled)
            self._kept += len(found.positions)
            if self._kept > _MAX_KEPT:
                self._done.clear()
                self._kept = len(found.positions)
            self._done[path, inner] = found
        return found

    def _computed(self, path: str, expanded: frozenset[str], cancelled: Callable[[], bool]) -> Arrangement:
        outline = self._outline
        children = outline.groups[path].children
        parts: dict[Key, Arrangement] = {
            child: self._of_group(child, expanded, cancelled)
            for child in children
            if isinstance(child, str) and child in expanded
        }
        sizes = {child: _framed(parts[child]) if child in parts else (WIDTH, HEIGHT) for child in children}
        ends: dict[Ends, tuple[Key, Key]] = {}
        for target, source, *within in self._edges[path]:
            visible = outline.visible(target, expanded, path), outline.visible(source, expanded, path)
            ends.setdefault(visible, (within[0], within[1]))
        links: dict[tuple[Key, Key], Link[Key]] = {}
        for (start, end), (before, after) in ends.items():
            if before != after and (before, after) not in links:
                ports = _port(start, before, parts), _port(end, after, parts)
                links[before, after] = Link(before, after, *ports)
        layout = arrange(sizes, list(links.values()), _SPACING, cancelled)
        return _joined(layout.positions, layout.routes, sizes, parts, ends)


def _child(chain: Sequence[str], depth: int, id: int) -> Key:
    return chain[depth] if depth < len(chain) else id


def _framed(part: Arrangement) -> tuple[float, float]:
    return part.width + 2 * PADDING, part.height + PADDING + TITLE


def _port(item: Key, child: Key, parts: dict[Key, Arrangement]) -> float:
    """Vertical distance of an item's center from the top of the child that contains it."""
    return HEIGHT / 2 if item == child else TITLE + parts[child].positions[item][1] + HEIGHT / 2


def _joined(
    corners: dict[Key, Point],
    routes: dict[tuple[Key, Key], tuple[Point, ...]],
    sizes: dict[Key, tuple[float, float]],
    parts: dict[Key, Arrangement],
    ends: dict[Ends, tuple[Key, Key]],
) -> Arrangement:
    """The arrangement of a group from the corners of its children and their arrangements."""
    positions: dict[Key, Point] = {}
    frames: list[Frame] = []
    edges: dict[Ends, tuple[Point, ...]] = {}
    widths: dict[float, float] = {}
    for child, (x, y) in corners.items():
        widths[x] = max(widths.get(x, 0.0), sizes[child][0])
        part = parts.get(child)
        if part is None:
            positions[child] = (x, y)
            continue
        frames.append(Frame(str(child), x, y, *sizes[child]))
        dx, dy = x + PADDING, y + TITLE
        positions.update({key: (left + dx, top + dy) for key, (left, top) in part.positions.items()})
        frames += [Frame(each.path, each.x + dx, each.y + dy, each.width, each.height) for each in part.frames]
        edges.update({key: tuple((a + dx, b + dy) for a, b in points) for key, points in part.edges.items()})
    for (start, end), (before, after) in ends.items():
        if start == end:
            continue
        (x0, y0), (x1, y1) = positions[start], positions[end]
        between = [
            point
            for x, y in routes.get((before, after), ())
            for point in ((x, y), (x + widths.get(x, WIDTH), y))
        ]  # fmt: skip
        leave = [(corners[before][0] + sizes[before][0], y0 + HEIGHT / 2)] if before in parts else []
        enter = [(corners[after][0], y1 + HEIGHT / 2)] if after in parts else []
        edges[start, end] = ((x0 + WIDTH, y0 + HEIGHT / 2), *leave, *between, *enter, (x1, y1 + HEIGHT / 2))
    right = max((x + sizes[child][0] for child, (x, _) in corners.items()), default=0.0)
    bottom = max((y + sizes[child][1] for child, (_, y) in corners.items()), default=0.0)
    return Arrangement(positions, tuple(frames), edges, right, bottom)
