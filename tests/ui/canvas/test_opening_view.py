"""The first view of a graph: everything if names can be read, else the beginning without cut nodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from studio.ui.canvas.geometry import Box
from studio.ui.canvas.layout.opening_view import OpeningView, opening_view
from studio.ui.canvas.level_of_detail import FULL_SCALE, NAMES_SCALE

WIDTH, HEIGHT = 900.0, 480.0


def grid(columns: int, rows: int) -> list[Box]:
    return [Box(240.0 * x, 112.0 * y, 240.0 * x + 128, 112.0 * y + 48) for y in range(rows) for x in range(columns)]


def visible(view: OpeningView, width: float = WIDTH, height: float = HEIGHT, top: float = 0.0) -> Box:
    (x, y), scale = view.center, view.scale
    return Box(
        x - width / 2 / scale, y - height / 2 / scale + top / scale, x + width / 2 / scale, y + height / 2 / scale
    )


def contains(area: Box, box: Box) -> bool:
    return (
        area.left <= box.left and area.top <= box.top and box.right <= area.right and box.bottom <= area.bottom
    )  # fmt: skip


@given(st.integers(1, 7), st.integers(1, 8), st.sampled_from([0.0, 40.0]))
def test_all_nodes_and_frames_are_in_view_at_a_scale_for_names(columns: int, rows: int, top: float) -> None:
    nodes = grid(columns, rows)
    frame = Box(-16, -44, nodes[-1].right + 16, nodes[-1].bottom + 16)
    view = opening_view(nodes, [frame], WIDTH, HEIGHT, top)
    assert view is not None and NAMES_SCALE <= view.scale <= 1.0
    assert contains(visible(view, top=top), frame)


@given(st.integers(9, 60), st.integers(1, 40), st.integers(300, 1200), st.integers(200, 700))
def test_a_large_graph_opens_at_its_first_node_at_full_detail(columns: int, rows: int, width: int, height: int) -> None:
    nodes = grid(columns, rows)
    view = opening_view(nodes, [], width, height)
    assert view is not None and (view.scale >= FULL_SCALE or columns * 240 * NAMES_SCALE <= width)
    assert contains(visible(view, width, height), nodes[0])


def test_no_node_is_cut_off_where_that_can_be_avoided() -> None:
    nodes = grid(30, 20)
    for width in range(500, 1300, 30):
        view = opening_view(nodes, [], width, HEIGHT)
        assert view is not None
        area = visible(view, width)
        assert not any(box.overlaps(area) and not contains(area, box) for box in nodes), width


def test_an_empty_graph_has_no_view() -> None:
    assert opening_view([], [], WIDTH, HEIGHT) is None
