from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from studio.ui.canvas.geometry import GRID, Box
from studio.ui.canvas.gestures.snapping import AlignmentGuide, snap_to_neighbors

offsets = st.floats(-300, 300)


@given(offsets, offsets)
def test_without_neighbors_the_grid_attracts(dx: float, dy: float) -> None:
    found = snap_to_neighbors(Box(16, 24, 136, 72), dx, dy, [], 6)
    assert (16 + found.dx) % GRID == 0
    assert (24 + found.dy) % GRID == 0
    assert abs(found.dx - dx) <= GRID / 2
    assert found.guides == ()


def test_a_neighbors_edge_attracts_and_draws_a_line() -> None:
    neighbor = Box(100, 200, 221, 248)
    found = snap_to_neighbors(Box(0, 0, 120, 48), 103, 0, [neighbor], 6)
    assert found.dx == 101  # right edge to right edge, off the grid
    assert found.guides == (AlignmentGuide("x", 221, 0, 248),)


def test_too_far_a_neighbor_does_not_attract() -> None:
    assert snap_to_neighbors(Box(0, 0, 120, 48), 90, 0, [Box(100, 200, 221, 248)], 6).guides == ()


def test_equal_boxes_in_line_show_all_three_lines() -> None:
    found = snap_to_neighbors(Box(0, 0, 120, 48), 198, 3, [Box(0, 0, 120, 48)], 6)
    assert found.dy == 0
    assert {guide.at for guide in found.guides} == {0, 24, 48}
    assert all(guide.axis == "y" for guide in found.guides)
