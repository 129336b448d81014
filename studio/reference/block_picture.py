"""A picture of a definition as SVG: its nodes at their positions, and the wires."""

from __future__ import annotations

from html import escape

from studio.document import blocks
from studio.document.model import Block, Node

_WIDTH, _HEIGHT = 150.0, 44.0
_MARGIN = 12.0
_LETTERS = 20
"""Longest text of a node, in letters."""


def picture(block: Block, title: str) -> str:
    """An SVG in the colors of the text around it, without blank lines."""
    places = {name: (node.at[0], node.at[1]) for name, node in block.nodes.items()}
    left, top = min(x for x, _ in places.values()), min(y for _, y in places.values())
    places = {name: (x - left + _MARGIN, y - top + _MARGIN) for name, (x, y) in places.items()}
    width = max(x for x, _ in places.values()) + _WIDTH + _MARGIN
    height = max(y for _, y in places.values()) + _HEIGHT + _MARGIN
    wires = [_wire(places[wire.source.node], places[wire.target.node]) for wire in block.wires]
    nodes = [_node(name, node, *places[name]) for name, node in block.nodes.items()]
    shown = min(width, 900.0)
    size = f'viewBox="0 0 {width:g} {height:g}" width="{shown:g}" style="max-width: 100%; height: auto"'
    text = f'role="img" aria-label="{escape(title)}" font-family="sans-serif" font-size="13" fill="currentColor"'
    return "\n".join([f"<svg {size} {text}>", *wires, *nodes, "</svg>"])


def _wire(source: tuple[float, float], target: tuple[float, float]) -> str:
    x1, y1 = source[0] + _WIDTH, source[1] + _HEIGHT / 2
    x2, y2 = target[0], target[1] + _HEIGHT / 2
    bend = max(abs(x2 - x1) / 2, 24.0)
    path = f"M{x1:g} {y1:g} C{x1 + bend:g} {y1:g} {x2 - bend:g} {y2:g} {x2:g} {y2:g}"
    return f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.5" stroke-width="1.5"/>'


def _node(name: str, node: Node, x: float, y: float) -> str:
    is_port = node.type in (blocks.INPUT, blocks.OUTPUT)
    kind = "" if is_port else node.type.rpartition(".")[2]
    radius = _HEIGHT / 2 if is_port else 6
    box = (
        f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH:g}" height="{_HEIGHT:g}" rx="{radius:g}" fill="currentColor" '
        'fill-opacity="0.06" stroke="currentColor" stroke-opacity="0.4"/>'
    )
    middle = x + _WIDTH / 2
    first, second = (y + 27, y) if not kind else (y + 19, y + 35)
    texts = [f'<text x="{middle:g}" y="{first:g}" text-anchor="middle">{_short(name)}</text>']
    if kind:
        texts.append(
            f'<text x="{middle:g}" y="{second:g}" text-anchor="middle" font-size="11" fill-opacity="0.7">'
            f"{_short(kind)}</text>"
        )
    return box + "".join(texts)


def _short(text: str) -> str:
    return escape(text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…")
