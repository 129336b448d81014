from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.nodes.types import Port, PortType
from studio.ui.canvas.canvas_style import CanvasStyle
from studio.ui.canvas.geometry import GRID, Box, Point, bounds, snap, snap_up
from studio.ui.canvas.nodes.node_content import NodeContent
from studio.ui.canvas.nodes.node_layout import FIRST_PORT, TextRole, node_layout
from studio.ui.canvas.nodes.node_painter import prepare_drawing
from studio.ui.theme.theme import current

coordinates = st.floats(-5000, 5000)
points = st.tuples(coordinates, coordinates)


def measure(text: str, role: TextRole) -> float:
    return 7.0 * len(text)


def node_content(
    inputs: int = 1, outputs: int = 1, *, name: str = "linear", summary: str = "", collapsed: bool = False
) -> NodeContent:
    ports = [
        tuple(Port(f"{side}{n}", PortType.TENSOR) for n in range(count))
        for side, count in (("in", inputs), ("out", outputs))
    ]
    return NodeContent(name, "", "linear", "layer", *ports, summary=summary, collapsed=collapsed)


@given(st.integers(0, 5), st.integers(0, 5), st.text(max_size=60), st.text(max_size=60), st.booleans())
def test_sizes_are_on_the_grid_and_ports_on_the_edges(
    inputs: int, outputs: int, name: str, summary: str, collapsed: bool
) -> None:
    layout = node_layout(node_content(inputs, outputs, name=name, summary=summary, collapsed=collapsed), measure)
    assert layout.width % GRID == 0
    assert layout.height % GRID == 0
    assert all(port.x == 0 and 0 < port.y < layout.height for port in layout.inputs.values())
    assert all(port.x == layout.width and 0 < port.y < layout.height for port in layout.outputs.values())


def test_first_port_has_the_same_height_on_all_nodes() -> None:
    layouts = [node_layout(node_content(n, m), measure) for n in range(1, 4) for m in range(1, 4)]
    assert {layout.inputs["in0"].y for layout in layouts} == {FIRST_PORT}
    assert {layout.outputs["out0"].y for layout in layouts} == {FIRST_PORT}


def test_ports_of_a_side_have_different_positions() -> None:
    layout = node_layout(node_content(4, 3), measure)
    assert len(set(layout.inputs.values())) == 4
    assert len(set(layout.outputs.values())) == 3


def test_long_name_widens_the_node_up_to_a_limit() -> None:
    assert node_layout(node_content(name="x" * 20), measure).width > node_layout(node_content(), measure).width
    assert (
        node_layout(node_content(name="x" * 500), measure).width
        == node_layout(node_content(name="y" * 900), measure).width
    )


def test_live_value_does_not_change_the_size_of_a_loss() -> None:
    quiet = NodeContent(
        "loss", "", "loss", "loss", (Port("input", PortType.TENSOR), Port("target", PortType.TENSOR)), ()
    )
    live = NodeContent("loss", "", "loss", "loss", quiet.inputs, (), live="0.31")
    assert node_layout(quiet, measure) == node_layout(live, measure)


def test_unknown_port_is_at_the_center_of_its_edge() -> None:
    layout = node_layout(node_content(), measure)
    assert layout.port("input", "gone") == Point(0, layout.height / 2)
    assert layout.port("output", "gone") == Point(layout.width, layout.height / 2)


@given(coordinates)
def test_snapping(value: float) -> None:
    assert snap(value) % GRID == 0
    assert abs(snap(value) - value) <= GRID / 2
    assert -1e-9 <= snap_up(value) - value <= GRID


def test_bounds() -> None:
    assert bounds([]) is None
    assert bounds([Box(0, 5, 10, 8), Box(-3, 6, 4, 20)]) == Box(-3, 5, 10, 20)


@pytest.mark.usefixtures("qapp")
def test_the_name_has_priority_over_the_type() -> None:
    content = replace(node_content(name="discriminator_loss"), kind="Binary cross entropy with logits")
    style = CanvasStyle(current())
    drawing = prepare_drawing(content, node_layout(content, style.measure), style)
    assert drawing.name == "discriminator_loss"
    assert drawing.kind.startswith("Bin") and drawing.kind.endswith("…")


@pytest.mark.usefixtures("qapp")
def test_a_type_without_room_is_left_out() -> None:
    content = replace(node_content(name="n" * 200), kind="Linear")
    style = CanvasStyle(current())
    drawing = prepare_drawing(content, node_layout(content, style.measure), style)
    assert drawing.name.endswith("…") and drawing.kind == ""
