"""SVG drawing of an autograd graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from engine.inspect.graph_nodes import GraphCut, GraphEdge, GraphNode
from engine.inspect.layered_layout import Layout, Link, Spacing, arrange

WIDTH, HEIGHT = 176.0, 52.0
_SPACING = Spacing(column=40, row=14, bend=20)
_MARGIN = 16.0
_STYLE = """
  .graph { font-family: system-ui, sans-serif; font-size: 12px; color-scheme: light dark; }
  .edge { fill: none; stroke: light-dark(#8a8f98, #7d838d); stroke-width: 1.25; }
  .node rect { fill: light-dark(#ffffff, #24272c); stroke: light-dark(#8a8f98, #7d838d); }
  .leaf rect { stroke-dasharray: 4 3; }
  .changed rect { stroke: light-dark(#b3261e, #ff8a80); stroke-width: 2; }
  .name { fill: light-dark(#1c1e21, #eceef1); font-weight: 600; }
  .detail { fill: light-dark(#5a606a, #a8aeb8); font-family: ui-monospace, monospace; font-size: 10px; }
  .cut { fill: light-dark(#b3261e, #ff8a80); font-size: 10px; }
"""


def drawing(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge], cuts: Iterable[GraphCut]) -> str:
    """Return the SVG text of a graph, with a tooltip for each node. Follows the light or dark theme of its viewer."""
    sizes = {node.id: (WIDTH, HEIGHT) for node in nodes}
    layout = arrange(sizes, [Link(edge.target, edge.source) for edge in dict.fromkeys(edges)], _SPACING)
    cuts_by_node: dict[int, list[GraphCut]] = {}
    for cut in cuts:
        if cut.node is not None:
            cuts_by_node.setdefault(cut.node, []).append(cut)
    right = max((x for x, _ in layout.positions.values()), default=0.0) + WIDTH + 2 * _MARGIN
    bottom = max((y for _, y in layout.positions.values()), default=0.0) + HEIGHT + 2 * _MARGIN
    size = f'viewBox="0 0 {right:g} {bottom:g}" width="{right:g}" height="{bottom:g}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} class="graph" role="img">',
        f"  <title>Autograd graph of {len(nodes)} nodes</title>",
        f"  <style>{_STYLE}  </style>",
        f'  <g transform="translate({_MARGIN:g} {_MARGIN:g})">',
    ]
    drawn = dict.fromkeys((edge.target, edge.source) for edge in edges)
    lines += [f'    <path class="edge" d="{_path(layout, *ends)}"/>' for ends in drawn]
    for node in nodes:
        lines += _node(node, layout.positions[node.id], cuts_by_node.get(node.id, []))
    return "\n".join([*lines, "  </g>", "</svg>", ""])


def _path(layout: Layout[int], start: int, end: int) -> str:
    (x, y), (last_x, last_y) = layout.positions[start], layout.positions[end]
    stops = [(x + WIDTH, y + HEIGHT / 2)]
    for bend_x, bend_y in layout.routes.get((start, end), ()):
        stops += [(bend_x, bend_y), (bend_x + WIDTH, bend_y)]
    stops.append((last_x, last_y + HEIGHT / 2))
    parts = [f"M{stops[0][0]:g} {stops[0][1]:g}"]
    for (x0, y0), (x1, y1) in pairwise(stops):
        middle = (x0 + x1) / 2
        parts.append(f"C{middle:g} {y0:g} {middle:g} {y1:g} {x1:g} {y1:g}")
    return "".join(parts)


def _node(node: GraphNode, at: tuple[float, float], cuts: list[GraphCut]) -> list[str]:
    kinds = ["node", *(["leaf"] if node.leaf is not None else []), *(["changed"] if node.changed else [])]
    x, y = at
    norm = "" if node.gradient_norm is None else f"‖g‖ {node.gradient_norm:.3g}"
    lines = [
        f'    <g class="{" ".join(kinds)}" transform="translate({x:g} {y:g})">',
        f"      <title>{escape(_tooltip(node, cuts))}</title>",
        f'      <rect width="{WIDTH:g}" height="{HEIGHT:g}" rx="6"/>',
        f'      <text class="name" x="10" y="18">{escape(_shortened(node.leaf or node.name))}</text>',
        f'      <text class="detail" x="10" y="33">{escape(str(node.spec))}</text>',
    ]
    if norm:
        lines.append(f'      <text class="detail" x="10" y="46">{norm}</text>')
    if cuts:
        lines.append(f'      <text class="cut" x="{WIDTH - 10:g}" y="46" text-anchor="end">cut: {cuts[0].kind}</text>')
    return [*lines, "    </g>"]


def _shortened(text: str, limit: int = 24) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]}…{text[-limit // 2 + 1 :]}"


def _tooltip(node: GraphNode, cuts: list[GraphCut]) -> str:
    lines = [node.name if not node.leaf else f"{node.name} of {node.leaf}", str(node.spec)]
    if node.where is not None:
        lines.append(f"{node.where[0]}:{node.where[1]}")
    if node.uses > 1:
        lines.append(f"Sum of {node.uses} gradients")
    for saved in node.saved:
        version = "" if not saved.is_changed else f", version {saved.current_version}, saved version {saved.version}"
        lines.append(f"Saved {saved.name}: {saved.spec}, {saved.nbytes} bytes{version}")
    lines += [f"No gradient for input {cut.input}: {cut.kind}" for cut in cuts]
    return "\n".join(lines)


__all__ = ["drawing"]
