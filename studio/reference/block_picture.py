"""A picture of a graph as SVG: its nodes in the columns and rows of the canvas, and the wires."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from studio.document.blocks import block_nodes
from studio.document.model import Block, Document, Node, Wire

_WIDTH, _HEIGHT = 124.0, 40.0
_COLUMN, _ROW, _LANE = 156.0, 60.0, 12.0
"""Distances of nodes, and of wires that pass below them."""
_MARGIN = 20.0
_NEAR = 64.0
"""Nodes whose positions differ by less than this on the canvas share a column."""
_BEND = 20.0
_LETTERS = 17
"""Longest text of a node, in letters."""

Place = tuple[float, float]


def picture(block: Block | Document, title: str) -> str:
    """An SVG of a graph in the colors of the text around it, without blank lines."""
    columns = _ranks((node.at[0] for node in block.nodes.values()), _NEAR)
    rows = _ranks((node.at[1] for node in block.nodes.values()), 24.0)
    places = {
        name: (_MARGIN + columns[node.at[0]] * _COLUMN, _MARGIN + rows[node.at[1]] * _ROW)
        for name, node in block.nodes.items()
    }
    bottom = max(y for _, y in places.values()) + _HEIGHT
    wires: list[str] = []
    for wire in block.wires:
        if not {wire.source.node, wire.target.node} <= places.keys():
            continue  # a stray wire
        passes = _passes_nodes(wire, places)
        bottom += _LANE if passes else 0.0
        wires.append(_wire(places[wire.source.node], places[wire.target.node], bottom if passes else None))
    width = max(x for x, _ in places.values()) + _WIDTH + _MARGIN
    size = f'viewBox="0 0 {width:g} {bottom + _MARGIN:g}" width="{width:g}" height="{bottom + _MARGIN:g}"'
    text = f'role="img" aria-label="{escape(title)}" font-family="sans-serif" font-size="13" fill="currentColor"'
    nodes = [_node(name, node, *places[name]) for name, node in block.nodes.items()]
    return "\n".join([f"<svg {size} {text}>", *wires, *nodes, "</svg>"])


def _ranks(values: Iterable[float], near: float) -> dict[float, int]:
    """The column or row of each coordinate."""
    ranks: dict[float, int] = {}
    start = 0.0
    for value in sorted(set(values)):
        if not ranks or value - start >= near:
            start = value
            ranks[value] = len(set(ranks.values()))
        else:
            ranks[value] = max(ranks.values())
    return ranks


def _passes_nodes(wire: Wire, places: dict[str, Place]) -> bool:
    """Whether a node is between the columns of a wire, at or between its rows."""
    (x1, y1), (x2, y2) = places[wire.source.node], places[wire.target.node]
    low, high = sorted((y1, y2))
    return any(x1 < x < x2 and low <= y <= high for x, y in places.values())


def _wire(source: Place, target: Place, lane: float | None) -> str:
    x1, y1 = source[0] + _WIDTH, source[1] + _HEIGHT / 2
    x2, y2 = target[0], target[1] + _HEIGHT / 2
    if x2 <= x1:
        lane = y1 + (_ROW if y2 >= y1 else -_ROW) / 2
        out = f"C{x1 + _BEND:g} {y1:g} {x1 + _BEND:g} {lane:g} {x1:g} {lane:g}"
        back = f"C{x2 - _BEND:g} {lane:g} {x2 - _BEND:g} {y2:g} {x2:g} {y2:g}"
        path = f"M{x1:g} {y1:g} {out} L{x2:g} {lane:g} {back}"
    elif lane is None:
        bend = max(abs(x2 - x1) / 2, _BEND)
        path = f"M{x1:g} {y1:g} C{x1 + bend:g} {y1:g} {x2 - bend:g} {y2:g} {x2:g} {y2:g}"
    else:
        down = f"C{x1 + _BEND:g} {y1:g} {x1:g} {lane:g} {x1 + _BEND:g} {lane:g}"
        up = f"C{x2:g} {lane:g} {x2 - _BEND:g} {y2:g} {x2:g} {y2:g}"
        path = f"M{x1:g} {y1:g} {down} L{x2 - _BEND:g} {lane:g} {up}"
    return f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.5" stroke-width="1.5"/>'


def _node(name: str, node: Node, x: float, y: float) -> str:
    is_port = node.type in (block_nodes.INPUT, block_nodes.OUTPUT)
    kind = "" if is_port else node.type.rpartition(".")[2]
    radius = _HEIGHT / 2 if is_port else 6
    box = (
        f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH:g}" height="{_HEIGHT:g}" rx="{radius:g}" fill="currentColor" '
        'fill-opacity="0.06" stroke="currentColor" stroke-opacity="0.4"/>'
    )
    middle = x + _WIDTH / 2
    texts = [f'<text x="{middle:g}" y="{y + (17 if kind else 25):g}" text-anchor="middle">{_short(name)}</text>']
    if kind:
        texts.append(
            f'<text x="{middle:g}" y="{y + 32:g}" text-anchor="middle" font-size="11" fill-opacity="0.7">'
            f"{_short(kind)}</text>"
        )
    return box + "".join(texts)


def _short(text: str) -> str:
    return escape(text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…")
