"""The size of a node and the positions of its ports, computed from its content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from studio.nodes.types import Port
from studio.ui.canvas.geometry import Box, Point, Side, snap_up
from studio.ui.canvas.nodes.node_content import NodeContent

HEADER = 24
ROW = 16
CORNER = 6.0
PORT = 4.5
"""Radius of a port."""

FIRST_PORT = HEADER + 12
"""Equal for all nodes, so that aligned nodes have straight wires."""

_SIDE_MARGIN = 12
_MIN_WIDTH, _MAX_WIDTH = 112, 256
_ICON = 24
_GAP = 16
_COLLAPSED = 24

TextRole = Literal["name", "text", "mono"]
MeasureText = Callable[[str, TextRole], float]


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """Size and port positions of a node, relative to its top left corner."""

    width: float
    height: float
    inputs: dict[str, Point]
    outputs: dict[str, Point]
    line: float | None
    """Vertical center of the summary line; None if it has no space."""

    @property
    def sides(self) -> tuple[tuple[Side, dict[str, Point]], ...]:
        return ("input", self.inputs), ("output", self.outputs)

    def box(self, at: tuple[float, float]) -> Box:
        return Box(at[0], at[1], at[0] + self.width, at[1] + self.height)

    def port(self, side: Side, name: str) -> Point:
        """Position of a port; the center of the edge for an unknown port."""
        position = (self.inputs if side == "input" else self.outputs).get(name)
        return position or Point(0.0 if side == "input" else self.width, self.height / 2)


def node_layout(content: NodeContent, measure: MeasureText) -> NodeLayout:
    """Compute the layout: width from the content, height on the grid. Live values do not change the size."""
    width = _width(content, measure)
    if content.collapsed:
        return NodeLayout(
            width, _COLLAPSED, _spread_evenly(content.inputs, 0.0), _spread_evenly(content.outputs, width), line=None
        )
    rows = max(len(content.inputs), len(content.outputs), 1)
    height = FIRST_PORT + ROW * (rows - 1) + 12
    line: float | None = FIRST_PORT
    if content.labeled:
        line = height + 4 if content.has_line else None
        height += ROW if content.has_line else 0
    return NodeLayout(
        width,
        height,
        {port.name: Point(0.0, FIRST_PORT + ROW * row) for row, port in enumerate(content.inputs)},
        {port.name: Point(width, FIRST_PORT + ROW * row) for row, port in enumerate(content.outputs)},
        line,
    )


def _width(content: NodeContent, measure: MeasureText) -> float:
    title = (
        _ICON
        + 8
        + measure(content.name, "name")
        + (8 + measure(content.kind, "text") if content.kind else 0)
        + _SIDE_MARGIN
    )
    labels = 0.0
    if content.labeled:
        left = max((measure(label, "text") for label in content.input_labels), default=0.0)
        right = max((measure(label, "text") for label in content.output_labels), default=0.0)
        labels = left + right + 2 * _SIDE_MARGIN + (_GAP if left and right else 0)
    line = measure(content.summary, "mono") + 2 * _SIDE_MARGIN
    return min(max(snap_up(max(title, labels, line)), _MIN_WIDTH), _MAX_WIDTH)


def _spread_evenly(ports: Sequence[Port], x: float) -> dict[str, Point]:
    step = _COLLAPSED / (len(ports) + 1)
    return {port.name: Point(x, step * (index + 1)) for index, port in enumerate(ports)}
