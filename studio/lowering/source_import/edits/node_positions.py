"""Positions of new nodes, next to those that they are connected to."""

from __future__ import annotations

from collections.abc import Iterable

from studio.document import edits
from studio.document.model import MAX_COORDINATE, Document

COLUMN, ROW, GRID = 232.0, 112.0, 8.0
"""Distances between new nodes, and the grid, in pixels at 100%."""


def place(document: Document, added: Iterable[str]) -> Document:
    """Put new nodes to the right of those before them, below what is there already."""
    waiting = dict.fromkeys(name for name in added if name in document.nodes)
    taken = [node.at for name, node in document.nodes.items() if name not in waiting]
    positions: dict[str, tuple[float, float]] = {}
    sources: dict[str, list[str]] = {}
    readers: dict[str, list[str]] = {}
    for wire in document.wires:
        sources.setdefault(wire.target.node, []).append(wire.source.node)
        readers.setdefault(wire.source.node, []).append(wire.target.node)

    def known(names: list[str]) -> list[tuple[float, float]]:
        return [
            positions.get(name, document.nodes[name].at) for name in names if name not in waiting or name in positions
        ]

    for name in waiting:
        before, after = known(sources.get(name, [])), known(readers.get(name, []))
        if before:
            x, y = max(x for x, _ in before) + COLUMN, sum(y for _, y in before) / len(before)
        elif after:
            x, y = min(x for x, _ in after) - COLUMN, sum(y for _, y in after) / len(after)
        else:
            x, y = 0.0, max((y for _, y in taken), default=-ROW) + ROW
        at = (_bounded(x), _bounded(GRID * round(y / GRID)))
        while any(abs(at[0] - x) < COLUMN - GRID and abs(at[1] - y) < ROW - GRID for x, y in taken):
            if at[1] + ROW > MAX_COORDINATE:
                break
            at = (at[0], at[1] + ROW)
        positions[name] = at
        taken.append(at)
    return edits.move(document, positions)


def _bounded(value: float) -> float:
    return max(-MAX_COORDINATE, min(value, MAX_COORDINATE))


__all__ = ["place"]
