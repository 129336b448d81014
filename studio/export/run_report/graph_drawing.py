"""SVG drawings of graphs. Colors are those of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

from engine.inspect.layered_layout import Layout, Link, Spacing, arrange
from studio.document.model import Node, Wire
from studio.nodes.catalogue import Catalogue

_WIDTH, _HEIGHT, _MARGIN = 168.0, 44.0, 8.0
_SPACING = Spacing(column=36, row=14, bend=20)
_LETTERS = 24
"""Letters that fit into a node."""


def graph_drawing(
    title: str, nodes: Mapping[str, Node], wires: Sequence[Wire], catalogue: Catalogue, shapes: Mapping[Wire, str]
) -> str:
    """The SVG text of a graph.

    Args:
        shapes: labels of wires, for tooltips
    """
    sizes = dict.fromkeys(nodes, (_WIDTH, _HEIGHT))
    links = dict.fromkeys((wire.source.node, wire.target.node) for wire in wires)
    layout = arrange(sizes, [Link(*ends) for ends in links if set(ends) <= sizes.keys()], _SPACING)
    width = max((x for x, _ in layout.positions.values()), default=0.0) + _WIDTH + 2 * _MARGIN
    height = max((y for _, y in layout.positions.values()), default=0.0) + _HEIGHT + 2 * _MARGIN
    parts = [
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" class="graph" role="img">',
        f"<title>{escape(title)}: {len(nodes)} nodes</title>",
        f'<g transform="translate({_MARGIN:g} {_MARGIN:g})">',
    ]
    for ends in links:
        if set(ends) <= sizes.keys():
            labels = [shapes[wire] for wire in wires if (wire.source.node, wire.target.node) == ends and wire in shapes]
            tip = f"<title>{escape(', '.join(dict.fromkeys(labels)))}</title>" if labels else ""
            parts.append(f'<path class="wire" d="{_path(layout, *ends)}">{tip}</path>')
    for name, node in nodes.items():
        parts += _node(name, node, layout.positions[name], catalogue)
    return "\n".join([*parts, "</g></svg>"])


def _node(name: str, node: Node, at: tuple[float, float], catalogue: Catalogue) -> list[str]:
    known = catalogue.get(node.type)
    params = ", ".join(f"{key}={value}" for key, value in node.params.items())
    title = node.type if known is None else known.title
    category = "unknown" if known is None else known.category
    return [
        f'<g class="node {escape(category)}" transform="translate({at[0]:g} {at[1]:g})">',
        f"<title>{escape(f'{name}: {node.type}({params})')}</title>",
        f'<rect width="{_WIDTH:g}" height="{_HEIGHT:g}" rx="6"/>',
        f'<rect class="edge" width="4" height="{_HEIGHT:g}" rx="2"/>',
        f'<text class="name" x="12" y="18">{escape(_shortened(name))}</text>',
        f'<text x="12" y="34">{escape(_shortened(title))}</text>',
        "</g>",
    ]


def _path(layout: Layout[str], start: str, end: str) -> str:
    (x, y), (last_x, last_y) = layout.positions[start], layout.positions[end]
    stops = [(x + _WIDTH, y + _HEIGHT / 2)]
    for bend_x, bend_y in layout.routes.get((start, end), ()):
        stops += [(bend_x, bend_y), (bend_x + _WIDTH, bend_y)]
    stops.append((last_x, last_y + _HEIGHT / 2))
    parts = [f"M{stops[0][0]:g} {stops[0][1]:g}"]
    for (x0, y0), (x1, y1) in pairwise(stops):
        middle = (x0 + x1) / 2
        parts.append(f"C{middle:g} {y0:g} {middle:g} {y1:g} {x1:g} {y1:g}")
    return "".join(parts)


def _shortened(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


__all__ = ["graph_drawing"]
